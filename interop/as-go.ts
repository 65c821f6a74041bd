import { expect } from 'vitest';
import type { StreamChunk, StreamPart } from '../src/protocol/parts/index.ts';
import { withoutEmpty } from './without-empty.ts';

/** What the Go SDK's chunks are where ours are these. */
export function asGo(part: StreamPart, chunks: readonly StreamChunk[]): readonly unknown[] {
  // E34: warnings are a chunk of their own; the tool of one is its feature.
  if (part.type === 'stream-start' && (part.warnings?.length ?? 0) > 0)
    return [{ type: part.type, warnings: expect.any(Array) }];
  return chunks.map((chunk) => {
    const fields = Object.fromEntries(
      Object.entries(withoutEmpty(JSON.parse(JSON.stringify(chunk)))).filter(([, value]) => value !== ''),
    );
    const { type, text, input, output: _output, error: _error, ...about } = fields;
    switch (chunk.type) {
      case 'text-delta':
        return { type: 'text', ...(text === undefined ? {} : { text }), ...about };
      case 'reasoning-delta':
        return { type: 'reasoning', ...(text === undefined ? {} : { reasoning: text }), ...about };
      case 'text-start':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-end':
        return fields;
      case 'tool-input-start': {
        const { id: _id, ...rest } = about;
        return { type, call: { toolCallId: chunk.id, ...rest } };
      }
      case 'tool-input-delta': // E33: without metadata.
        return {
          type,
          ...(chunk.id === '' ? {} : { id: chunk.id }),
          ...(chunk.delta === '' ? {} : { text: chunk.delta }),
        };
      case 'tool-input-end':
        return { type, call: { toolCallId: chunk.id } };
      case 'tool-call':
        return { type, call: { ...about, input, toolCallId: likeId(chunk.toolCallId) } };
      case 'tool-result': {
        const toolCallId = 'providerExecuted' in chunk ? likeId(chunk.toolCallId) : chunk.toolCallId;
        return { type, result: { ...about, output: chunk.output, toolCallId } };
      }
      case 'tool-error': {
        // E30: it stays preliminary. E31: what is no text is Go's print of it.
        const early = part.type === 'tool-result' && part.preliminary === true ? { preliminary: true } : {};
        return {
          type: 'tool-result',
          result: { ...about, ...early, error: printed(chunk.error), toolCallId: chunk.toolCallId },
        };
      }
      case 'error': // E32: as E31.
        return chunk.error === '' ? { type } : { type, text: printed(chunk.error) };
      case 'raw':
        return { type, raw: chunk.rawValue };
    }
    return chunk satisfies never;
  });
}

const printed = (value: unknown): unknown => (typeof value === 'string' ? value : expect.any(String));
/** The digits behind it are random there. */
const likeId = (id: string): unknown => expect.stringMatching(new RegExp(`^${id.slice(0, -16)}[0-9a-f]{16}$`));
