// The scripted model that all engines are measured with. Its parts come one a read, as from a provider's package; what one
// read of a socket may hold comes at once, and the event loop turns in between.

import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { RunShape } from './contender.ts';

export const deltaText = 'some words ';
export const lastWords = 'Done.';
export const toolName = 'count';
const partsAtOnce = 50;

export interface SharedModel {
  readonly model: LanguageModelV4;
  /** The next run is of that shape. */
  begin(shape: RunShape): void;
}

export function createSharedModel(): SharedModel {
  let next: RunShape = { kind: 'deltas', count: 0 };
  let calls = 0;
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench-1',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('This model only streams.')),
    async doStream() {
      const call = calls++;
      if (next.kind === 'deltas') return { stream: streamOf(text(next.count, deltaText)) };
      return { stream: streamOf(call < next.count ? toolCall(call) : text(1, lastWords)) };
    },
  };
  return {
    model,
    begin(shape) {
      [next, calls] = [shape, 0];
    },
  };
}

function* text(count: number, delta: string): Generator<LanguageModelV4StreamPart> {
  yield* opening();
  yield { type: 'text-start', id: '0' };
  for (let index = 0; index < count; index++) yield { type: 'text-delta', id: '0', delta };
  yield { type: 'text-end', id: '0' };
  yield { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage };
}

function* toolCall(call: number): Generator<LanguageModelV4StreamPart> {
  const [id, input] = [`call_${call}`, `{"n":${call}}`];
  yield* opening();
  yield { type: 'tool-input-start', id, toolName };
  yield { type: 'tool-input-delta', id, delta: input };
  yield { type: 'tool-input-end', id };
  yield { type: 'tool-call', toolCallId: id, toolName, input };
  yield { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage };
}

function* opening(): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'response-metadata', id: 'reply', modelId: 'bench-1' };
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

function streamOf(parts: Iterator<LanguageModelV4StreamPart>): ReadableStream<LanguageModelV4StreamPart> {
  let given = 0;
  const give = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => {
    const { done, value } = parts.next();
    if (done === true) controller.close();
    else controller.enqueue(value);
  };
  return new ReadableStream({
    pull(controller) {
      if (++given % partsAtOnce !== 0) return give(controller);
      return new Promise((resolve) => setImmediate(() => resolve(give(controller))));
    },
  });
}
