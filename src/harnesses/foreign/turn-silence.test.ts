import { applyDrafts } from '../../core/closing.ts';
import { checkLog } from '../../testing/check-log.ts';
import { createFactQueue } from './fact-queue.ts';
import { createManualClock } from '../../testing/manual-clock.ts';
import { driveTurn } from './drive-turn.ts';
import { expect, test } from 'vitest';
import { initialRunState } from '../../core/run-state.ts';
import { type EventDraft, type RunEvent } from '../../core/run-event.ts';
import { noBudgets } from '../../core/run-config.ts';
import { runIds, sessionIds } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { TurnBook } from './turn-book.ts';
import type { LiveTurn } from './live-turn.ts';
import type { NativeFact } from './native-fact.ts';

const [runId, sessionId] = [runIds.make('1'), sessionIds.make('1')];
const place = { v: 1, runId, sessionId, leg: 1 } as const;
const started: EventDraft = {
  type: 'run-started',
  data: { leg: 1, cause: 'submit', model: { provider: 'p', model: 'm' }, limits: noBudgets },
  step: 0,
  attempt: 0,
};
const neverAborts = new AbortController().signal;

/** A turn at work: its log grows as the clock is moved. */
function rig() {
  const clock = createManualClock();
  const facts = createFactQueue(clock);
  const state = applyDrafts(initialRunState(runId, sessionId), [started], clock.now());
  const live: LiveTurn = {
    session: {
      resumed: false,
      gone: new Promise(() => {}),
      prompt: () => live.turn,
      stop: () => Promise.resolve({ found: [], unstopped: [] }),
      cutOff() {},
      meter: { begin() {}, cut: null, beyond: () => null },
      whyEnded: () => Promise.resolve(null),
    },
    turn: { facts, answer() {}, interrupt: () => void facts.put({ is: 'ended', end: { as: 'interrupted' } }) },
    book: new TurnBook(state),
    told: new Set(),
    coming: null,
    waiting: new Map(),
  };
  const log: RunEvent[] = [{ ...place, seq: 1, at: clock.now(), ...started }];
  const drive = async () => {
    const groups = driveTurn(state, {
      live,
      label: 'Stub',
      clock,
      logger: silentLogger,
      silence: { firstSeconds: 30, modelSeconds: 60, toolSeconds: 120 },
      signal: neverAborts,
      pause: neverAborts,
      outside: async function* () {},
      judge: () => Promise.resolve({ level: 'allow', authority: 'policy' }),
      keep() {},
    });
    for await (const group of groups)
      log.push(...group.map((draft, index) => ({ ...place, seq: log.length + index + 1, at: clock.now(), ...draft })));
  };
  const over = drive();
  const say = async (...said: NativeFact[]) => {
    for (const fact of said) void facts.put(fact);
    await clock.advance(0);
  };
  const waits = () => log.flatMap(({ type, data }) => (type === 'waiting' ? [data] : []));
  return { clock, say, log, waits, over };
}

const call = { id: 'c', name: 'bash', input: {} };
const working: readonly NativeFact[] = [{ is: 'reply-begun' }, { is: 'text', key: 't', text: 'I ' }];

test('S2, B147: a wait is told of after ten seconds without progress and each fifteen after it; that the connection lives is told beside it and prolongs nothing', async () => {
  const { clock, say, log, waits, over } = rig();
  await say(...working);
  for (let second = 0; second < 59; second++) {
    await clock.advance(1_000);
    await say({ is: 'alive' });
  }
  expect(waits().map(({ on, seconds }) => [on, seconds])).toEqual(
    [10, 25, 40, 55].map((seconds) => ['model', seconds]),
  );
  for (const { lastByteMs } of waits()) expect(lastByteMs).toBeLessThanOrEqual(1_000);
  await clock.advance(10_000);
  await over;
  expect(log.at(-1)).toMatchObject({ type: 'run-result', data: { status: 'failed' } });
  expect(JSON.stringify(log.at(-1))).toContain('gave no sign of life during a model call beyond its heartbeat');
  expect(checkLog(log)).toEqual([]);
  expect(clock.pending).toBe(0);
});

test('S3, E-132: progress that shows nothing begins a new wait and takes back no seconds; what shows something does', async () => {
  const { clock, say, waits } = rig();
  await say(...working);
  await clock.advance(26_000);
  await say({ is: 'progress' });
  await clock.advance(39_000);
  expect(waits().map(({ seconds }) => seconds)).toEqual([10, 25]);
  await clock.advance(2_000);
  expect(waits().map(({ seconds }) => seconds)).toEqual([10, 25, 40]);
  await say({ is: 'text', key: 't', text: 'work.' });
  await clock.advance(11_000);
  expect(waits().map(({ seconds }) => seconds)).toEqual([10, 25, 40, 10]);
});

test('S1, H-110: a tool that runs is named, and has a limit of its own', async () => {
  const { clock, say, log, waits, over } = rig();
  await say(
    { is: 'reply-begun' },
    { is: 'call-whole', call },
    { is: 'reply-accepted', finishReason: 'tool-use', raw: null, usage: null },
  );
  await say({ is: 'call-running', call });
  await clock.advance(119_000);
  expect(waits()[0]).toEqual({ on: 'tool', name: 'bash', seconds: 10, lastByteMs: 10_000 });
  expect(log.at(-1)?.type).toBe('waiting');
  await clock.advance(10_000);
  await over;
  expect(JSON.stringify(log.at(-1))).toContain('gave no sign of life during a tool call and was stopped');
  expect(checkLog(log)).toEqual([]);
});

test('S1, H-110: a start is told of as one, and ends sooner', async () => {
  const { clock, log, waits, over } = rig();
  await clock.advance(31_000);
  await over;
  expect(waits().map(({ seconds }) => seconds)).toEqual([10, 25]);
  expect(JSON.stringify(log.at(-1))).toContain('gave no sign of life during its start and was stopped');
});
