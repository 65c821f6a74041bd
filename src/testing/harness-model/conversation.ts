import { z } from 'zod';

/** A request of any wire, as far as scripts look at it. */
export interface Conversation {
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly OfferedTool[];
}

/** What the model is told, in order; its own replies are left out. */
export interface Turn {
  readonly from: 'user' | 'tool';
  readonly text: string;
}

export interface OfferedTool {
  /** `custom` (Responses alone): its input is free text, not JSON. */
  readonly kind: 'function' | 'custom';
  readonly name: string;
  /** Codex offers the tools of an MCP server under the server's name. */
  readonly namespace?: string;
  /** Of its JSON Schema, by name. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Text as the wires write it: a string, or parts of which some have text. Anything else has none. */
export const textOrParts = z
  .union([z.string(), z.array(z.object({ text: z.string().catch('') })).transform((parts) => joinTexts(parts))])
  .catch('');

/** The properties of a tool's JSON Schema; none where it is no object. */
export const schemaProperties = z
  .object({ properties: z.record(z.string(), z.unknown()) })
  .transform(({ properties }) => properties)
  .catch({});

export const joinTexts = (parts: readonly { readonly text: string }[]): string =>
  parts.map(({ text }) => text).join('\n');
