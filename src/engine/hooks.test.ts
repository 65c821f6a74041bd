import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLive, type RunEvent } from '../core/run-event.ts';
import { silentLogger, type Logger } from '../core/logger.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { createLogBuilder, testRunId, testSessionId, type BlockScript } from '../testing/log-builder.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createHookRunner, type HookName, type HookPayload, type Hooks } from './hooks.ts';

const allNames: readonly HookName[] = [
  'run-start',
  'run-end',
  'step-start',
  'step-end',
  'model-request',
  'model-response',
  'tool-start',
  'tool-end',
  'retry',
  'recovery',
  'repetition',
  'compacted',
  'todos-updated',
  'checkpoint',
  'error',
  'skill-invoked',
  'sandbox-exec',
];

function observer(hear: (payload: HookPayload) => void | Promise<void>, names = allNames): Hooks {
  return Object.fromEntries(names.map((name) => [name, hear]));
}

function listen(hooks?: Hooks | readonly Hooks[]) {
  const [heard, notes]: [HookPayload[], string[]] = [[], []];
  const note = (message: string, facts = {}, cause?: unknown) =>
    notes.push(`${message} ${JSON.stringify(facts)} ${String(cause)}`);
  const logger: Logger = { ...silentLogger, warn: note, error: note };
  const clock = createManualClock();
  const runner = createHookRunner(hooks ?? observer((payload) => void heard.push(payload)), { clock, logger });
  return { heard, notes, clock, runner };
}

/** All that waits for promises alone has come round, however long the queue. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const answer: BlockScript = { kind: 'text', pieces: ['Yes.'] };
const call: BlockScript = { kind: 'call', id: 'c', pieces: ['{}'], outcome: 'ok', content: 'Done.' };

function toolLog() {
  const log = createLogBuilder();
  log.start();
  log.step({ blocks: [call], abandoned: [{ blocks: [answer], shown: 1, reason: 'stalled' }] });
  log.step({ blocks: [answer], abandoned: [{ blocks: [], shown: 0, reason: 'crash' }] });
  return log;
}

test('E-901: hooks hear of a run in the order of its log, each with its place and event id', async () => {
  const log = toolLog();
  log.end({ status: 'failed', stopReason: null, error: { type: 'ProviderError', message: 'No.', retryable: false } });
  const { heard, runner } = listen();
  for (const event of log.events) runner.fire(event);
  await settled();
  expect(heard.map(({ hook, step, attempt }) => `${hook} ${step}.${attempt}`)).toEqual([
    'run-start 0.0',
    'step-start 1.0',
    'model-request 1.1',
    'retry 1.1',
    'model-request 1.2',
    'model-response 1.2',
    'tool-start 1.2',
    'tool-end 1.2',
    'step-end 1.0',
    'checkpoint 1.0',
    'step-start 2.0',
    'model-request 2.1',
    'recovery 2.1',
    'model-request 2.2',
    'model-response 2.2',
    'step-end 2.0',
    'checkpoint 2.0',
    'error 2.0',
    'run-end 2.0',
  ]);
  for (const { event, eventId, runId, sessionId } of heard) {
    expect({ eventId, runId, sessionId }).toEqual({
      eventId: `${testRunId}:${event.seq}`,
      runId: testRunId,
      sessionId: testSessionId,
    });
  }
});

test('E-901: the start of read_skill and bash is told as skill-invoked and sandbox-exec, with the call', async () => {
  const { heard, runner } = listen();
  const place = { v: 1, runId: testRunId, sessionId: testSessionId, at: 1, leg: 1, step: 1, attempt: 1 } as const;
  for (const [index, name] of ['read_skill', 'bash', 'grep'].entries()) {
    const [id, executionKey, seq] = [`c${index}`, `k${index}`, 10 + 2 * index];
    const started = { id, name, input: { n: index }, executionKey, willRun: true };
    runner.fire({ ...place, seq, type: 'tool-call-start', data: started });
    const dispatched = { id, executionKey, toolAttempt: 1, argsDigest: 'd', replay: 'safe', timeoutMs: null } as const;
    runner.fire({ ...place, seq: seq + 1, type: 'tool-dispatched', data: { ...dispatched, authority: 'policy' } });
  }
  await settled();
  expect(heard.map(({ hook, call: started }) => [hook, started?.name, started?.input])).toEqual([
    ['tool-start', 'read_skill', { n: 0 }],
    ['skill-invoked', 'read_skill', { n: 0 }],
    ['tool-start', 'bash', { n: 1 }],
    ['sandbox-exec', 'bash', { n: 1 }],
    ['tool-start', 'grep', { n: 2 }],
  ]);
});

test('E-104, K2: over any log, what hooks get is frozen, a copy, and without private fields', async () => {
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    expect(Object.isFrozen(value)).toBe(true);
    for (const [key, inner] of Object.entries(value)) {
      expect(key).not.toMatch(/^_/);
      look(inner);
    }
  };
  await fc.assert(
    fc.asyncProperty(arbitraryLog, async (events) => {
      const { heard, runner } = listen();
      for (const event of events) runner.fire(event);
      await settled();
      expect(heard.length).toBeGreaterThan(0);
      for (const payload of heard) look(payload);
      for (const event of events) expect(Object.isFrozen(event)).toBe(false);
      expect(heard.some(({ event }) => isLive(event.type))).toBe(false);
    }),
    { numRuns: 30 },
  );
});

test('K3: a hook that throws or rejects is logged and counted, and the others go on', async () => {
  const heard: string[] = [];
  const broken: Hooks = {
    'run-start': () => {
      throw new Error('Mine.');
    },
    'step-start': () => Promise.reject(new Error('Late.')),
  };
  const { notes, runner, clock } = listen([broken, observer(({ hook }) => void heard.push(hook))]);
  for (const event of toolLog().events.slice(0, 2)) runner.fire(event);
  await settled();
  expect(heard).toEqual(['run-start', 'step-start', 'model-request']);
  const facts = JSON.stringify({ runId: testRunId, hook: 'run-start', eventId: `${testRunId}:1`, failures: 1 });
  expect(notes).toEqual([`A hook failed. ${facts} Error: Mine.`, expect.stringMatching(/"failures":2.*Error: Late\./)]);
  expect(clock.pending).toBe(0);
});

test('K3: a hook that takes longer than 5 s is cut; what it does later changes nothing', async () => {
  const heard: HookName[] = [];
  const stuck = Promise.withResolvers<void>();
  const slow: Hooks = { 'run-start': () => stuck.promise, 'step-start': ({ hook }) => void heard.push(hook) };
  const { notes, runner, clock } = listen(slow);
  for (const event of toolLog().events.slice(0, 2)) runner.fire(event);
  await clock.advance(4_999);
  expect([notes, heard]).toEqual([[], []]);
  await clock.advance(1);
  stuck.reject(new Error('At last.'));
  await settled();
  expect(heard).toEqual(['step-start']);
  expect(notes).toEqual([expect.stringContaining('longer than 5000 ms')]);
});

test('K1: firing returns before any hook has run, and a slow hook keeps the order', async () => {
  const heard: string[] = [];
  const { runner, clock } = listen(
    observer(async ({ hook }) => {
      heard.push(`${hook} begins`);
      if (hook === 'run-start') await new Promise<void>((resolve) => void clock.timer(1_000, resolve));
      heard.push(`${hook} ends`);
    }),
  );
  for (const event of toolLog().events.slice(0, 2)) runner.fire(event);
  expect(heard).toEqual([]);
  await clock.advance(1_000);
  await settled();
  expect(heard.slice(0, 4)).toEqual(['run-start begins', 'run-start ends', 'step-start begins', 'step-start ends']);
});

test('K4: beyond 10,000 notices the oldest are left out and counted, with one warning', async () => {
  const seen: number[] = [];
  const { notes, runner } = listen({ compacted: ({ event }) => void seen.push(event.seq) });
  const [first] = toolLog().events;
  const data = {
    trigger: 'auto',
    method: 'prune',
    tokensBefore: 2,
    tokensAfter: 1,
    throughSeq: 1,
    usage: null,
  } as const;
  for (let seq = 1; seq <= 10_003; seq++) runner.fire({ ...first, seq, type: 'compacted', data } as RunEvent);
  await settled();
  expect([seen.length, seen[0], seen.at(-1)]).toEqual([10_000, 4, 10_003]);
  expect(notes).toEqual([expect.stringContaining('{"dropped":3}')]);
});

test('E-560: a repetition is told under its name with the event that shows it', async () => {
  const { heard, runner } = listen();
  const result = toolLog().events.find(({ type }) => type === 'tool-result');
  if (result !== undefined) runner.fireNamed('repetition', result);
  await settled();
  expect(heard).toEqual([expect.objectContaining({ hook: 'repetition', step: 1, event: result })]);
});
