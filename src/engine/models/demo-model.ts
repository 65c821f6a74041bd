import { answerDemo, type DemoAnswer } from './demo-answer.ts';
import { sleep, type Clock } from '../../core/clock.ts';
import { toWellFormed } from '../../core/text.ts';
import type { Model, ModelRequest } from '../model.ts';
import type { ModelPart } from './model-part.ts';

export interface DemoModelOptions {
  readonly clock: Clock;
  /** `human`: at the pace of E-909. `full`: without waiting. */
  readonly speed: 'human' | 'full';
}

const firstDeltaMs = 300;
const shortestAnswerMs = 700;
const stepMs = { words: 50, numbers: 200 };
const fewestPieces = 3;
/** Longer answers come in bigger pieces, not later: two minutes of words. Counting is never joined. */
const mostPieces = 2_400;

/** The scripted model (E-908): the same prompt gives the same answer. It is no AI, and it knows nothing of usage. */
export function createDemoModel({ clock, speed }: DemoModelOptions): Model {
  return {
    provider: 'demo',
    modelId: 'demo',
    doStream(request) {
      request.abortSignal?.throwIfAborted();
      const stop = new AbortController();
      const signal = AbortSignal.any([
        stop.signal,
        ...(request.abortSignal === undefined ? [] : [request.abortSignal]),
      ]);
      const wait = async (ms: number) => {
        if (speed === 'human') await sleep(clock, ms, signal);
        signal.throwIfAborted();
      };
      const parts = play(request, wait);
      const stream = new ReadableStream<ModelPart>(
        {
          async pull(controller) {
            const { done, value } = await parts.next();
            if (done === true) controller.close();
            else controller.enqueue(value);
          },
          async cancel(reason) {
            stop.abort(reason);
            await parts.return(undefined);
          },
        },
        { highWaterMark: 0 },
      );
      return Promise.resolve({ stream });
    },
  };
}

type Wait = (ms: number) => Promise<void>;

async function* play(request: ModelRequest, wait: Wait): AsyncGenerator<ModelPart, undefined> {
  const answer = answerDemo(request);
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'response-metadata', modelId: 'demo' };
  const finishReason =
    answer.kind === 'text'
      ? yield* playText(answer, { wait, mostPieces: request.maxOutputTokens ?? Infinity })
      : yield* playCall(answer, { id: nextCallId(request), wait });
  yield { type: 'finish', finishReason, usage: unknownUsage };
}

const stopped = { unified: 'stop', raw: 'stop' } as const;
const cutShort = { unified: 'length', raw: 'length' } as const;
const calledTool = { unified: 'tool-calls', raw: 'tool_calls' } as const;
const unknownUsage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/** A script has no tokens; for its reply budget a piece counts as one. */
async function* playText(
  { text, pace }: Extract<DemoAnswer, { kind: 'text' }>,
  { wait, mostPieces: budget }: { readonly wait: Wait; readonly mostPieces: number },
): AsyncGenerator<ModelPart, typeof stopped | typeof cutShort> {
  const whole = toWellFormed(text);
  const pieces = atLeastThree(pace === 'numbers' ? whole.split(/(?<=\n)/) : inWords(whole), whole);
  // Each pause is as long as the pace asks, and long enough that the last piece does not come too early (E-909).
  const pauseMs = Math.max(stepMs[pace], Math.ceil((shortestAnswerMs - firstDeltaMs) / (pieces.length - 1)));
  for (const [index, delta] of pieces.slice(0, budget).entries()) {
    await wait(index === 0 ? firstDeltaMs : pauseMs);
    if (index === 0) yield { type: 'text-start', id: '0' };
    yield { type: 'text-delta', id: '0', delta };
  }
  yield { type: 'text-end', id: '0' };
  return pieces.length > budget ? cutShort : stopped;
}

async function* playCall(
  { name, input }: Extract<DemoAnswer, { kind: 'call' }>,
  { id, wait }: { readonly id: string; readonly wait: Wait },
): AsyncGenerator<ModelPart, typeof calledTool> {
  const json = JSON.stringify(input);
  await wait(firstDeltaMs);
  yield { type: 'tool-input-start', id, toolName: name };
  for (const delta of inWords(json)) {
    yield { type: 'tool-input-delta', id, delta };
    await wait(stepMs.words);
  }
  yield { type: 'tool-input-end', id };
  yield { type: 'tool-call', toolCallId: id, toolName: name, input: json };
  return calledTool;
}

/** Unlike every id before it in the conversation, as long as that holds only calls of this model. */
function nextCallId({ prompt }: ModelRequest): string {
  const contents = prompt.flatMap((message) => (message.role === 'assistant' ? message.content : []));
  return `call_demo_${contents.filter(({ type }) => type === 'tool-call').length + 1}`;
}

/** Words with the space behind them, joined to at most `mostPieces`. */
function inWords(text: string): readonly string[] {
  const words = text.split(/(?<=\s)(?=\S)/u);
  const size = Math.ceil(words.length / mostPieces);
  if (size <= 1) return words;
  return Array.from({ length: Math.ceil(words.length / size) }, (_, at) =>
    words.slice(at * size, (at + 1) * size).join(''),
  );
}

/** A short answer goes by characters; one of less than three ends in empty pieces. */
function atLeastThree(pieces: readonly string[], text: string): readonly string[] {
  if (pieces.length >= fewestPieces) return pieces;
  const characters = Array.from(text);
  const cut = (at: number) => Math.ceil((at * characters.length) / fewestPieces);
  return Array.from({ length: fewestPieces }, (_, at) => characters.slice(cut(at), cut(at + 1)).join(''));
}
