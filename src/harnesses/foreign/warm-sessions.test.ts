import { createManualClock } from '../../testing/manual-clock.ts';
import { createProcessPool } from './process-pool.ts';
import { createWarmSessions, type Holder, type TakeOptions, type WarmProcess } from './warm-sessions.ts';
import { expect, test } from 'vitest';
import { sessionIds } from '../../core/ids.ts';
import { silentLogger as logger } from '../../core/logger.ts';

const session = sessionIds.make('one');

function rig(most = 2) {
  const clock = createManualClock();
  const pool = createProcessPool({ max, maxIdle: 8, maxParked: 0, maxWaiting: 4, waitSeconds: 60 }, { clock });
  const warm = createWarmSessions({ idleSeconds: 10, parkSeconds: 100 }, { clock, logger, pool });
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

function processOf(name: string, stopped: string[]): WarmProcess {
  const gone = Promise.withResolvers<string>();
  return {
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
