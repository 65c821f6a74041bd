import type { LanguageModelV4 } from '@ai-sdk/provider';

/** What one run is asked to do: one reply in so many text deltas, or so many replies with one tool call each. */
export interface RunShape {
  readonly kind: 'deltas' | 'steps';
  readonly count: number;
}

export interface RunParts {
  readonly model: LanguageModelV4;
  readonly shape: RunShape;
  /** The handler of the one tool there is. */
  readonly tool: { readonly name: string; readonly description: string; run(input: unknown): string };
}

/** Drives one run and reads all that it shows. Gives the length of the text that was shown. */
export type Contender = (parts: RunParts) => Promise<number>;

export const toolSchema = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
} as const;
