import { hashText } from '../../core/text.ts';
import type { CompactionPart, FileChangePart, Metadata, StreamPart, ToolResultPart } from './stream-part.ts';
import type { PartJson } from './part-json.ts';
import type { StreamChunk } from './stream-chunk.ts';

export interface TranslateOptions {
  /** Who ran the call that a result is of; absent: always the runtime. `createToolOrigins` has it. */
  readonly isProviderExecuted?: (toolCallId: string) => boolean;
  /** Where the part stands: makes ids that are the same on a replay. Absent: equal parts have equal ids. */
  readonly ids?: { readonly runId: string; readonly seq: number };
}

/**
 * One part as chunks of the AI SDK. None for calls and approval requests, which whoever knows the tools has to check first, and
 * none for the boundaries of steps and turns, which whoever assembles the turn makes (P-045).
 */
export function translatePart(part: StreamPart, options: TranslateOptions = {}): readonly StreamChunk[] {
  switch (part.type) {
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
      return [{ type: part.type, id: part.id, ...metadataOf(part) }];
    case 'text-delta':
    case 'reasoning-delta':
      return [{ type: part.type, id: part.id, text: part.delta, ...metadataOf(part) }];
    case 'tool-input-start':
    case 'tool-input-delta':
    case 'tool-input-end':
      return [part];
    case 'tool-result':
      return [translateResult(part, options)];
    case 'file-change': {
      const change = { event: part.event, path: part.path };
      return pair(part, options, { name: 'fileChange', input: change, output: change });
    }
    case 'compaction': {
      const { type: _type, harnessMetadata: _metadata, ...output } = part;
      return pair(part, options, { name: 'compaction', input: {}, output });
    }
    case 'error':
      return [{ type: 'error', error: part.error }];
    case 'raw':
      return [{ type: 'raw', rawValue: part.rawValue }];
    case 'stream-start':
    case 'tool-call':
    case 'tool-approval-request':
    case 'finish-step':
    case 'finish':
      return [];
  }
}

function metadataOf({ harnessMetadata }: { readonly harnessMetadata?: Metadata }) {
  return harnessMetadata === undefined ? {} : { providerMetadata: harnessMetadata };
}

function translateResult(part: ToolResultPart, { isProviderExecuted }: TranslateOptions): StreamChunk {
  const { toolCallId, toolName, result, isError, preliminary, dynamic, providerMetadata } = part;
  const about = {
    toolCallId,
    toolName,
    input: undefined,
    ...(dynamic === undefined ? {} : { dynamic }),
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  };
  // A reader is shown the text of an error only where the runtime ran the tool.
  if (isError === true && (isProviderExecuted?.(toolCallId) ?? true))
    return { type: 'tool-error', ...about, error: result, providerExecuted: true };
  return { type: 'tool-result', ...about, output: result, ...(preliminary === undefined ? {} : { preliminary }) };
}

const prefixes = { 'file-change': 'harness-file-change-', compaction: 'harness-compaction-' } as const;

function pair(
  part: FileChangePart | CompactionPart,
  { ids }: TranslateOptions,
  { name, input, output }: { readonly name: string; readonly input: PartJson; readonly output: PartJson },
): readonly StreamChunk[] {
  const place = ids === undefined ? JSON.stringify(part) : `${ids.runId}:${ids.seq}`;
  const about = {
    toolCallId: prefixes[part.type] + digitsOf(place),
    toolName: name,
    input,
    dynamic: true,
    providerExecuted: true,
    ...metadataOf(part),
  } as const;
  return [
    { type: 'tool-call', ...about },
    { type: 'tool-result', ...about, output },
  ];
}

/** 16 hexadecimal digits. */
function digitsOf(text: string): string {
  return Number.parseInt(hashText(text), 36).toString(16).padStart(16, '0');
}
