import { createManualClock } from '../../testing/manual-clock.ts';
import { createProcessPool, type PoolBounds } from './process-pool.ts';
import { WarmSessions, type Holder, type TakeOptions, type WarmProcess } from './warm-sessions.ts';
import { expect, test } from 'vitest';
import { createMailbox } from '../../process/mailbox.ts';
import { initialRunState } from '../../core/run-state.ts';
import { runIds, sessionIds } from '../../core/ids.ts';
import { TurnBook } from './turn-book.ts';
import type { NativeFact } from './native-fact.ts';
import { silentLogger as logger } from '../../core/logger.ts';

const session = sessionIds.make('one');
const runId = runIds.make('1');
const parkedRun = {
  runId,
  live: {
    session: processOf('parked', []).session,
    turn: { facts: createMailbox<NativeFact>(1), answer() {}, interrupt() {} },
    book: new TurnBook(initialRunState(runId, session), 'm'),
    told: new Set<string>(),
    coming: null,
    waiting: new Map(),
  },
};

function rig(max = 2, bounds: Partial<PoolBounds> = {}) {
  const clock = createManualClock();
  const pool = createProcessPool(
    { max, maxIdle: 8, maxParked: 0, maxWaiting: 4, waitSeconds: 60, ...bounds },
    { clock },
  );
  const warm = new WarmSessions({ idleSeconds: 10, parkSeconds: 100 }, { clock, logger, pool });
  const [opened, stopped]: [string[], string[]] = [[], []];
  const take = (holder: Holder, o: Partial<TakeOptions> & { name?: string; of?: typeof session } = {}) => {
    const { name = 'a', of = session, ...own } = o;
    return warm.take(of, holder, {
      fingerprint: name,
      signal: new AbortController().signal,
      isLast: false,
      open: async () => {
        opened.push(name);
        return processOf(name, stopped);
      },
      ...own,
    });
  };
  return { clock, pool, warm, take, opened, stopped };
}

interface Fate {
  readonly gone?: PromiseWithResolvers<string>;
  readonly spoiled?: Promise<void>;
  /** Before it has stopped. */
  readonly onStop?: () => Promise<void>;
}

function processOf(
  name: string,
  stopped: string[],
  { gone = Promise.withResolvers<string>(), spoiled = new Promise(() => undefined), onStop }: Fate = {},
): WarmProcess {
  return {
    spoiled,
    extras: { mcpServers: [], skillFolders: [], degraded: [] },
    session: {
      resumed: false,
      gone: gone.promise,
      turns: 0,
      prompt: () => {
        throw new Error('Nothing is asked of it here.');
      },
      whyEnded: async () => null,
      cutOff() {},
      meter: { begin() {}, cut: null, beyond: () => null },
      async stop() {
        await onStop?.();
        stopped.push(name);
        gone.resolve('It was stopped.');
        return { found: [], unstopped: [] };
      },
    },
  };
}

test('H-074: a process is used again as long as it is what it has to be, and let go when it has been idle', async () => {
  const { clock, warm, take, opened, stopped } = rig();
  const holder = {};
  for (const name of ['a', 'a', 'b']) {
    await take(holder, { name });
    await warm.release(session, holder);
  }
  expect([opened, stopped]).toEqual([['a', 'b'], ['a']]);
  await clock.advance(10_000);
  expect([stopped, warm.has(session), clock.pending]).toEqual([['a', 'b'], false, 0]);
});

test('M1: who held it before lets go of nothing: the process of the turn that took it after him stays at work', async () => {
  const { clock, pool, warm, take, stopped } = rig(1);
  const [before, after] = [{}, {}];
  await take(before);
  await take(after);
  await warm.release(session, before);
  await clock.advance(20_000);
  const other = pool.take({ signal: AbortSignal.timeout(1), end: () => undefined });
  await expect(other).rejects.toThrow();
  expect(stopped).toEqual([]);
});

test('a process that nobody will take again goes with its holder', async () => {
  const { warm, take, stopped } = rig();
  const holder = {};
  await take(holder, { isLast: true });
  await warm.release(session, holder);
  expect([stopped, warm.has(session)]).toEqual([['a'], false]);
});

test('a turn that is left while its process is opened leaves it to nobody, and it is let go in time', async () => {
  const { clock, warm, take, stopped } = rig();
  const holder = {};
  const opening = Promise.withResolvers<WarmProcess>();
  const taken = take(holder, { open: () => opening.promise });
  const released = warm.release(session, holder);
  opening.resolve(processOf('late', stopped));
  await Promise.all([taken, released]);
  await clock.advance(10_000);
  expect(stopped).toEqual(['late']);
});

test('M2: the place of one that did not start is free', async () => {
  const { warm, take, opened } = rig(1);
  await expect(take({}, { open: () => Promise.reject(new Error('no')) })).rejects.toThrow('no');
  await take({});
  expect([opened, warm.has(session)]).toEqual([['a'], true]);
});

test('M2: one that is idle gives way to another session, and is not taken by its own while it goes', async () => {
  const { warm, take, opened, stopped } = rig(1);
  const [holder, other] = [{}, {}];
  await take(holder);
  await warm.release(session, holder);
  const another = sessionIds.make('other');
  await take(other, { of: another, name: 'b' });
  expect(stopped).toEqual(['a']);
  const again = take(holder, { name: 'a' });
  await warm.release(another, other);
  await again;
  expect([opened, stopped]).toEqual([
    ['a', 'b', 'a'],
    ['a', 'b'],
  ]);
});

test('M3: a process that is spoiled is given to no other turn, and its end, soon in any case, is not that of the one after it', async () => {
  const { clock, warm, take, opened, stopped } = rig();
  const [before, after] = [{}, {}];
  const spoiled = Promise.withResolvers<void>();
  await take(before, { open: async () => processOf('runaway', stopped, { spoiled: spoiled.promise }) });
  spoiled.resolve();
  await clock.advance(1_000);
  await warm.release(session, before);
  await take(after);
  await clock.advance(20_000);
  expect([opened, stopped, warm.has(session)]).toEqual([['a'], ['runaway'], true]);
  await warm.release(session, after);
  await clock.advance(10_000);
  expect(clock.pending).toBe(0);
});

test('M3: what is spoiled is ended in five seconds though its turn holds it, and what was idle at once', async () => {
  const { clock, warm, take, stopped } = rig();
  const [holder, other] = [{}, sessionIds.make('other')];
  const spoiled = Promise.withResolvers<void>();
  await take(holder, { open: async () => processOf('busy', stopped, { spoiled: spoiled.promise }) });
  await take(holder, { of: other, open: async () => processOf('idle', stopped, { spoiled: spoiled.promise }) });
  await warm.release(other, holder);
  spoiled.resolve();
  await clock.advance(4_999);
  expect(stopped).toEqual(['idle']);
  await clock.advance(1);
  expect([stopped, clock.pending]).toEqual([['idle', 'busy'], 0]);
});

test('M3: one that has gone in its turn is not parked, and nobody finds it', async () => {
  const { warm, take, stopped } = rig();
  const holder = {};
  const gone = Promise.withResolvers<string>();
  await take(holder, { open: async () => processOf('dead', stopped, { gone }) });
  warm.park(session, parkedRun);
  gone.resolve('It died.');
  await gone.promise;
  expect(warm.resume(session, runId, {})).toBeNull();
  await warm.release(session, holder);
  expect([stopped, warm.has(session)]).toEqual([['dead'], false]);
});

test('H-042: the process of a run that waits is its alone; one for that run alone goes after it', async () => {
  const { clock, warm, take, stopped } = rig();
  const [holder, later] = [{}, {}];
  await take(holder, { isLast: true });
  warm.park(session, parkedRun);
  await warm.release(session, holder);
  await clock.advance(99_000);
  expect(warm.resume(session, runIds.make('2'), later)).toBeNull();
  expect(warm.resume(session, runId, later)).toBe(parkedRun.live);
  await clock.advance(99_000);
  warm.park(session, null);
  await warm.release(session, later);
  expect([stopped, clock.pending]).toEqual([['a'], 0]);
});

test('H-060: who discards what is being stopped already waits for the end of it', async () => {
  const { clock, warm, take, stopped } = rig();
  const holder = {};
  const slow = Promise.withResolvers<void>();
  await take(holder, { open: async () => processOf('slow', stopped, { onStop: () => slow.promise }) });
  warm.park(session, parkedRun);
  await warm.release(session, holder);
  await clock.advance(100_000); // the park is over
  const discarded = warm.discard(session).then((unstopped) => [unstopped, [...stopped]]);
  await clock.advance(1_000);
  slow.resolve();
  expect(await discarded).toEqual([[], ['slow']]);
});

test('M2: a process that could not be stopped keeps its place, stands in the way of another, and is tried again', async () => {
  const { clock, pool, warm, take, opened, stopped } = rig(1);
  const holder = {};
  let isStuck = true;
  const onStop = async () => {
    if (isStuck) throw new Error('EMFILE');
  };
  await take(holder, { open: async () => processOf('stuck', stopped, { onStop }) });
  expect(await warm.discard(session)).toEqual(['The agent did not confirm that it stopped.']);
  await expect(take(holder)).rejects.toThrow('could not be stopped');
  const waiting = pool.take({ signal: new AbortController().signal, end: () => undefined });
  await clock.advance(20_000);
  expect([stopped, opened]).toEqual([[], []]);
  isStuck = false;
  await clock.advance(10_000);
  (await waiting)[Symbol.dispose]();
  expect([stopped, warm.has(session), clock.pending]).toEqual([['stuck'], false, 0]);
});

test('at the end nothing is left, not what was being opened either, and what could not be stopped is said', async () => {
  const { clock, warm, take, stopped } = rig();
  const opening = Promise.withResolvers<WarmProcess>();
  const taken = take({}, { open: () => opening.promise });
  const stuck = processOf('stuck', stopped, { onStop: () => Promise.reject(new Error('EMFILE')) });
  await take({}, { of: sessionIds.make('other'), open: async () => stuck });
  const closed = warm[Symbol.asyncDispose]().catch(String);
  opening.resolve(processOf('late', stopped));
  await taken;
  expect(await closed).toContain('Could not be stopped');
  expect([stopped, clock.pending]).toEqual([['late'], 0]);
});

test('one that the pool has no use for between turns is gone, and no timer is left of it', async () => {
  const { clock, warm, take, stopped } = rig(2, { maxIdle: 0 });
  const holder = {};
  await take(holder);
  await warm.release(session, holder);
  await clock.advance(0);
  expect([stopped, warm.has(session), clock.pending]).toEqual([['a'], false, 0]);
});
