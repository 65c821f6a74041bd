import { toJsonValue } from '../../core/json.ts';
import type { StreamChunk } from './stream-chunk.ts';
import type { UiChunk } from '../ui/chunk.ts';

export type { UiChunk as UIMessageChunk } from '../ui/chunk.ts';

export interface ToUIMessageChunksOptions {
  /** What a client may read of an error; absent: that there was one (P-095). */
  readonly errorText?: (error: unknown) => string;
}

export const unknownErrorText = 'An error occurred.';

/** What `translatePart` gives, as chunks of a UI message stream (P-048). None for what such a stream has no word for. */
export function toUIMessageChunks(chunk: StreamChunk, options: ToUIMessageChunksOptions = {}): readonly UiChunk[] {
  switch (chunk.type) {
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
      return [{ type: chunk.type, id: chunk.id }];
    case 'text-delta':
    case 'reasoning-delta':
      return [{ type: chunk.type, id: chunk.id, delta: chunk.text }];
    case 'tool-input-start': {
      const { id: toolCallId, toolName, title } = chunk;
      const named = { type: chunk.type, toolCallId, toolName, dynamic: true, ...ranBy(chunk) } as const;
      return [title === undefined ? named : { ...named, title }];
    }
    case 'tool-input-delta':
      return [{ type: chunk.type, toolCallId: chunk.id, inputTextDelta: chunk.delta }];
    case 'tool-call': {
      const { toolCallId, toolName, input } = chunk;
      const type = 'tool-input-available';
      return [{ type, toolCallId, toolName, input: toJsonValue(input), dynamic: true, ...ranBy(chunk) }];
    }
    case 'tool-result': {
      if ('preliminary' in chunk && chunk.preliminary) return [];
      return [{ type: 'tool-output-available', toolCallId: chunk.toolCallId, output: toJsonValue(chunk.output) }];
    }
    case 'tool-error': {
      const { toolCallId, error } = chunk;
      return [
        { type: 'tool-output-error', toolCallId, errorText: typeof error === 'string' ? error : JSON.stringify(error) },
      ];
    }
    case 'error':
      return [{ type: 'error', errorText: options.errorText?.(chunk.error) ?? unknownErrorText }];
    case 'tool-input-end':
    case 'raw':
      return [];
  }
}

/** Said only where it is true: a client keeps it for good. */
function ranBy({ providerExecuted }: { readonly providerExecuted?: boolean }): { readonly providerExecuted?: true } {
  return providerExecuted === true ? { providerExecuted } : {};
}
