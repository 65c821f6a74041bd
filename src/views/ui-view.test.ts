import * as baseline from 'ai-baseline';
import * as fc from 'fast-check';
import * as newest from 'ai';
import * as six from 'ai-6';
import { describe, expect, test } from 'vitest';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { createPartsView } from './parts-view.ts';
import { createUiView, endsMessage, plainForm, type UiChunk, type UiForm } from './ui-view.ts';
import { logOfAllTypes as makeLogOfAllTypes } from '../testing/log-of-all-types.ts';
import { type RunEvent } from '../core/run-event.ts';
import { noBudgets } from '../core/run-config.ts';
import { testRunId, testSessionId } from '../testing/log-builder.ts';
import { toUIMessageChunks } from '../protocol/parts/to-ui-message-chunks.ts';
import { translatePart } from '../protocol/parts/translate-part.ts';
import { UiMessageFold } from './ui-message.ts';

const logOfAllTypes = makeLogOfAllTypes();
const formOf6: UiForm = { chunks: 6, sendReasoning: true };
const clients = [
  { name: 'ai 7.0.112', sdk: baseline as unknown as typeof newest, form: plainForm },
  { name: 'ai 6.0.326', sdk: six as unknown as typeof newest, form: formOf6 },
  { name: 'ai 7.0.173', sdk: newest, form: plainForm },
];

function chunksOf(log: readonly RunEvent[], form: UiForm = plainForm): UiChunk[] {
  const view = createUiView(testRunId, form);
  return log.flatMap((event) => view.push(event));
}

/** The chunks of each message of the run. */
function messagesOf(chunks: readonly UiChunk[]): UiChunk[][] {
  const messages: UiChunk[][] = [];
  for (const chunk of chunks) {
    if (chunk.type === 'start') messages.push([]);
    messages.at(-1)?.push(chunk);
  }
  return messages;
}

/** As a client makes it; without what it keeps beside. */
async function readBy(sdk: typeof newest, chunks: readonly UiChunk[]): Promise<unknown> {
  const stream = new ReadableStream<newest.UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) if (chunk.type !== 'error') controller.enqueue({ ...chunk });
      controller.close();
    },
  });
  let last: newest.UIMessage | undefined;
  for await (const message of sdk.readUIMessageStream({ stream, terminateOnError: true })) last = message;
  return last;
}

/** Of a message, what a client makes of it, and we do: inputs in mid-word are guessed at by clients alone. */
function plain(message: unknown): unknown {
  return JSON.parse(JSON.stringify(message), (key, value) => {
    // A client tells its page of a step with the first thing in it.
    if (key === 'parts')
      return value.slice(0, value.findLastIndex(({ type }: { type: string }) => type !== 'step-start') + 1);
    if (key === 'rawInput' || key === 'metadata') return undefined;
    if (value?.type === 'reasoning') return { ...value, id: undefined };
    if (value?.state === 'input-streaming' || /begun anew|not completed/.test(value?.errorText))
      return { ...value, input: undefined };
    return value;
  });
}

const logs: fc.Arbitrary<readonly RunEvent[]> = fc.oneof(
  { weight: 9, arbitrary: arbitraryLog },
  { weight: 1, arbitrary: fc.nat(logOfAllTypes.length).map((count) => logOfAllTypes.slice(0, count)) },
);

describe('P-085: chunks', () => {
  test('of each form are what its clients know, and nothing in them is null but an output', async () => {
    for (const { sdk, form } of clients) {
      const schema = (sdk.uiMessageChunkSchema as () => { validate?: (value: unknown) => unknown })();
      await fc.assert(
        fc.asyncProperty(logs, async (log) => {
          for (const chunk of chunksOf(log, form)) {
            expect(await schema.validate?.(chunk)).toMatchObject({ success: true });
            const { output: _output, input: _input, ...rest } = { output: null, input: null, ...chunk };
            expect(JSON.stringify(rest)).not.toContain(':null');
            expect(Object.values(rest)).not.toContain(undefined);
          }
        }),
        { numRuns: 30 },
      );
    }
  });

  test('with chunks: 6 there is neither a reset nor the answer to an approval', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const types = chunksOf(log, formOf6).map(({ type }) => type);
        expect(types).not.toContain('reset-step');
        expect(types).not.toContain('tool-approval-response');
      }),
    );
  });

  test('a log of every type makes every chunk that there is', () => {
    const types = new Set([...chunksOf(logOfAllTypes), ...chunksOf(logOfAllTypes, formOf6)].map(({ type }) => type));
    expect([...types].toSorted()).toMatchInlineSnapshot(`
      [
        "data-reins-budget",
        "data-reins-gap",
        "data-reins-model",
        "data-reins-recovery",
        "data-reins-reset",
        "data-reins-todos",
        "data-reins-user-message",
        "data-reins-waiting",
        "error",
        "finish",
        "finish-step",
        "reasoning-delta",
        "reasoning-end",
        "reasoning-start",
        "reset-step",
        "start",
        "start-step",
        "text-delta",
        "text-end",
        "text-start",
        "tool-approval-request",
        "tool-approval-response",
        "tool-input-available",
        "tool-input-delta",
        "tool-input-start",
        "tool-output-available",
        "tool-output-error",
      ]
    `);
  });
});

describe('P-091: a message', () => {
  test('has one start, one end where its run has one, and nothing behind it', () => {
    fc.assert(
      fc.property(logs, (log) => {
        for (const chunks of messagesOf(chunksOf(log))) {
          expect(chunks.filter(({ type }) => type === 'start')).toHaveLength(1);
          const end = chunks.findIndex(endsMessage);
          expect([-1, chunks.length - 1]).toContain(end);
        }
      }),
    );
  });

  test('of a part of the log is the beginning of that of the whole', () => {
    fc.assert(
      fc.property(logs, fc.nat(200), (log, count) => {
        const part = chunksOf(log.slice(0, count));
        expect(chunksOf(log).slice(0, part.length)).toEqual(part);
      }),
    );
  });

  test('every block is opened once, told while it is open, and closed before its step ends (P-063)', () => {
    fc.assert(
      fc.property(logs, fc.constantFrom(plainForm, formOf6), (log, form) => {
        const [open, known] = [new Set<string>(), new Set<string>()];
        for (const chunk of chunksOf(log, form)) {
          if (chunk.type === 'reset-step') open.clear();
          if (chunk.type === 'text-start' || chunk.type === 'reasoning-start') {
            expect(known.has(chunk.id)).toBe(false);
            known.add(chunk.id);
            open.add(chunk.id);
          } else if (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') {
            expect(open.has(chunk.id)).toBe(true);
          } else if (chunk.type === 'text-end' || chunk.type === 'reasoning-end')
            expect(open.delete(chunk.id)).toBe(true);
          else if (chunk.type === 'finish-step') expect(open.size).toBe(0);
        }
      }),
    );
  });

  test('says the same texts as the replies, whatever of them was shown before', () => {
    fc.assert(
      fc.property(logs, (log) => {
        for (const event of log) {
          if (event.type !== 'text-complete' || event.data === '') continue;
          const upTo = chunksOf(log.slice(0, log.indexOf(event) + 1));
          expect(textShown(upTo)).toBe(event.data);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('without reasoning is the same but for it', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const isWords = ({ type }: UiChunk) => type.startsWith('reasoning');
        const told = chunksOf(log, { chunks: 7, sendReasoning: false });
        expect(told.filter(isWords)).toEqual([]);
        expect(told.filter(({ type }) => type.startsWith('tool-'))).toEqual(
          chunksOf(log).filter(({ type }) => type.startsWith('tool-')),
        );
      }),
    );
  });
});

/** Text of the open step, block by block. */
function textShown(chunks: readonly UiChunk[]): string {
  const from = chunks.findLastIndex(({ type }) => type === 'start-step' || type === 'reset-step');
  const texts = new Map<number, string>();
  for (const chunk of chunks.slice(from)) {
    if (chunk.type !== 'text-delta') continue;
    const block = Number(chunk.id.split('-')[3]);
    texts.set(block, (texts.get(block) ?? '') + chunk.delta);
  }
  return [...texts]
    .toSorted(([a], [b]) => a - b)
    .map(([, text]) => text)
    .join('');
}

describe.each(clients)('$name', ({ sdk, form }) => {
  test('reads every message, and makes of it what the server keeps', async () => {
    await fc.assert(
      fc.asyncProperty(logs, fc.nat(150), async (log, count) => {
        for (const chunks of messagesOf(chunksOf(log.slice(0, count), form))) {
          const fold = new UiMessageFold();
          for (const chunk of chunks) if (chunk.type !== 'error') fold.push(chunk);
          const read = await readBy(sdk, chunks);
          if (read === undefined) expect(fold.message().parts).toEqual([]);
          else expect(plain(fold.message())).toEqual(plain(read));
        }
      }),
      { numRuns: 60 },
    );
  });
});

const at = { v: 1, runId: testRunId, sessionId: testSessionId, at: 0, leg: 1, step: 1, attempt: 1 } as const;
/** The last of a short log. */
function toldBy(drafts: readonly Pick<RunEvent, 'type' | 'data'>[], form = plainForm): readonly UiChunk[] {
  const view = createUiView(testRunId, form);
  const model = { provider: 'p', model: 'm' };
  const started = { type: 'run-started', data: { leg: 1, cause: 'submit', model, limits: noBudgets } };
  const step = { type: 'step-started', data: { purpose: 'reply', model, replyBudget: null } };
  const log = [started, step, ...drafts].map((draft, index) => ({ ...at, seq: index + 1, ...draft }) as RunEvent);
  return log.flatMap((event) => view.push(event)).slice(2);
}
const pendingOf = (more: object = {}) => ({
  approvalId: 'apr_1',
  kind: 'approval',
  runId: testRunId,
  executionKey: 'k',
  step: 1,
  call: { id: 'c', name: 'write_file', input: { path: 'a' } },
  ...more,
});
const decisionOf = (more: object = {}) => ({
  approvalId: 'apr_1',
  kind: 'approval',
  executionKey: 'k',
  by: 'me',
  ...more,
});
const asked = (more: object) => ({ type: 'approval-required', data: pendingOf(more) }) as unknown as RunEvent;
const decided = (more: object) => ({ type: 'approval-decided', data: decisionOf(more) }) as unknown as RunEvent;

describe('what is asked', () => {
  test('of a sub-agent is a call of its own, which has its outcome with the decision (E-612)', () => {
    const ask = asked({ agentPath: ['helper'], reason: 'why' });
    const named = { toolCallId: 'apr_1', toolName: 'write_file', dynamic: true, providerExecuted: true };
    const request = [
      { type: 'tool-input-available', ...named, input: { path: 'a' } },
      { type: 'tool-approval-request', approvalId: 'apr_1', toolCallId: 'apr_1', reason: 'why' },
    ];
    expect(toldBy([ask, decided({ decision: 'approve', note: 'go' })])).toEqual([
      ...request,
      { type: 'tool-approval-response', approvalId: 'apr_1', approved: true, reason: 'go' },
      { type: 'tool-output-available', toolCallId: 'apr_1', output: null },
    ]);
    expect(toldBy([ask, decided({ decision: 'deny' })], formOf6)).toEqual([
      ...request,
      { type: 'tool-output-denied', toolCallId: 'apr_1' },
    ]);
  });

  test('before another message was told is waited for, and no more told of, in that message (S3)', () => {
    const view = createUiView(testRunId);
    const ask = asked({ agentPath: ['helper'] });
    const model = { provider: 'p', model: 'm' };
    const step = { type: 'step-started', data: { purpose: 'reply', model, replyBudget: null } };
    const word = { type: 'user-message', data: { messageId: 'n', content: [], mode: 'steer' } };
    const parked = {
      type: 'run-result',
      data: { status: 'awaiting-input', usage: null, model: { requested: model, served: null } },
    };
    const started = { type: 'run-started', data: { leg: 1, cause: 'submit', model, limits: noBudgets } };
    const drafts = [started, step, ask, word, step, parked, decided({ decision: 'approve' })];
    const told = drafts.map((draft, index) => {
      const chunks = view.push({ ...at, seq: index + 1, ...draft } as RunEvent);
      return [view.stage, chunks.map(({ type }) => type)];
    });
    expect(told.slice(-2)).toEqual([
      ['waiting', []],
      ['working', []],
    ]);
  });

  test('is decided once, and what was never asked is not decided', () => {
    expect(toldBy([decided({ decision: 'approve' })])).toEqual([]);
  });
});

test('a message is folded in the time that its chunks take, however many calls a step has', () => {
  const fold = new UiMessageFold();
  const ids = Array.from({ length: 20_000 }, (_, index) => `c${index}`);
  fold.push({ type: 'start-step' });
  for (const toolCallId of ids)
    fold.push({ type: 'tool-input-available', toolCallId, toolName: 'x', dynamic: true, input: {} });
  for (const toolCallId of ids) fold.push({ type: 'tool-output-available', toolCallId, output: toolCallId });
  for (const id of ids) fold.push({ type: 'data-reins-gap', id, data: { reason: id } });
  expect(fold.message().parts).toHaveLength(40_001);
}, 5_000);

test('P-062: who waits for a process is told its place', () => {
  const data = { on: 'capacity', seconds: 2, position: 3 };
  const drafts = [{ type: 'waiting', data }] as unknown as readonly RunEvent[];
  expect(toldBy(drafts)).toEqual([{ type: 'data-reins-waiting', data, transient: true }]);
});

test('P-085: behind a reset, what of the step stays is said again', () => {
  const todos = { todos: [{ content: 'x', status: 'pending' }], completed: 0, total: 1, inProgress: null };
  const reset = { step: 1, attempt: 1, nextAttempt: 2, reason: 'stalled', shown: true, retryInMs: 0 };
  const list = { type: 'data-reins-todos', id: 'todos', data: { todos: todos.todos, completed: 0, total: 1 } };
  const drafts = [
    { type: 'todos-updated', data: todos },
    { type: 'text-delta', data: 'gone' },
    { type: 'attempt-reset', data: reset },
  ] as unknown as readonly RunEvent[];
  expect(toldBy(drafts)).toEqual([
    list,
    { type: 'text-start', id: 't-1-1-0' },
    { type: 'text-delta', id: 't-1-1-0', delta: 'gone' },
    { type: 'reset-step' },
    list,
  ]);
  expect(toldBy(drafts, formOf6).slice(-2)).toEqual([
    { type: 'text-end', id: 't-1-1-0' },
    { type: 'data-reins-reset', id: 'reset-1-1', data: { step: 1, attempt: 1 } },
  ]);
});

describe('P-048: parts, translated, are the same chunks', () => {
  const compared = /^(?:text-|reasoning-|tool-input-(?:start|delta)$|tool-output-(?:available|error)$|error$)/;
  /** Not said in parts: a denial, and how a client is told that an input came to nothing. */
  const isOwn = (chunk: UiChunk) => 'errorText' in chunk && /begun anew|not completed|not hold/.test(chunk.errorText);
  const errorText = (error: unknown) => (error instanceof Object && 'message' in error ? String(error.message) : '');

  function viaParts(log: readonly RunEvent[]): UiChunk[] {
    const view = createPartsView();
    return log.flatMap((event) =>
      view
        .push(event)
        .flatMap((part) => translatePart(part, { ids: { runId: testRunId, seq: event.seq } }))
        .flatMap((chunk) => toUIMessageChunks(chunk, { errorText })),
    );
  }

  test('for text, reasoning, inputs, results, file changes, compactions and errors', () => {
    const isDenied = (event: RunEvent) => event.type === 'tool-call-complete' && event.data.outcome === 'denied';
    fc.assert(
      fc.property(
        arbitraryLog.filter((log) => !log.some(isDenied) && log.at(-1)?.type === 'run-result'),
        (log) => {
          const direct = chunksOf(log, formOf6).filter((chunk) => compared.test(chunk.type) && !isOwn(chunk));
          const isCancelled = log.some(({ type, data }) => type === 'run-result' && data.status === 'cancelled');
          const translated = viaParts(log).filter(
            ({ type }) => compared.test(type) && !(isCancelled && type === 'error'),
          );
          expect(translated).toEqual(direct);
        },
      ),
    );
  });

  test('pairs of changed files and compactions among them', () => {
    const rest = logOfAllTypes.filter(
      ({ type }) => type === 'file-changed' || type === 'compacted' || type === 'run-started',
    );
    const direct = chunksOf(rest).filter(({ type }) => type.startsWith('tool-'));
    expect(viaParts(rest)).toEqual(direct);
    expect(direct.length).toBeGreaterThanOrEqual(4);
  });
});
