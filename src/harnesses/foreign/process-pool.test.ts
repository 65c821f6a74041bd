import { createManualClock, type ManualClock } from '../../testing/manual-clock.ts';
import { createProcessPool, NoRoomError, type Place, type PoolBounds, type ProcessPool } from './process-pool.ts';
import { expect, test } from 'vitest';
import * as fc from 'fast-check';

const bounds: PoolBounds = { max: 2, maxIdle: 8, maxParked: 1, maxWaiting: 2, waitSeconds: 60 };

function rig(own: Partial<PoolBounds> = {}) {
  const clock = createManualClock();
  const pool = createProcessPool({ ...bounds, ...own }, { clock });
  const ended: string[] = [];
  /** One that is gone as soon as it is asked to. */
  const take = (name: string, o: { signal?: AbortSignal; seen?: number[] } = {}) => {
    const { signal = new AbortController().signal, seen = [] } = o;
    const taken: Promise<Place> = pool.take({
      signal,
      onPosition: (position) => void seen.push(position),
      end() {
        ended.push(name);
        void taken.then((place) => place[Symbol.dispose]());
      },
    });
    taken.catch(() => undefined);
    return taken;
  };
  return { clock, pool, take, ended };
}

const isOpen = async (promise: Promise<unknown>) =>
  (await Promise.race([
    promise.then(
      () => 'over',
      () => 'over',
    ),
    new Promise((r) => setImmediate(r, 'open')),
  ])) === 'open';

test('Q3: room is made of the longest idle, then of the longest parked beyond those that are kept, and never of one at work', async () => {
  const { take, ended } = rig({ max: 4 });
  const [a, b, c, d] = [await take('a'), await take('b'), await take('c'), await take('d')];
  a.use('parked');
  d.use('idle');
  b.use('parked');
  for (const name of ['e', 'f']) await take(name);
  expect(ended).toEqual(['d', 'a']);
  const last = take('g');
  expect(await isOpen(last)).toBe(true);
  c[Symbol.dispose]();
  await last;
  expect(ended).toEqual(['d', 'a']);
});

test('Q1: the place of one that is being ended is not given out before it is gone', async () => {
  const { pool, take } = rig({ max: 1 });
  let asked = 0;
  const slow = await pool.take({ signal: new AbortController().signal, end: () => void asked++ });
  slow.use('idle');
  const next = take('next');
  expect([await isOpen(next), asked]).toEqual([true, 1]);
  slow.use('idle'); // too late
  slow[Symbol.dispose]();
  await next;
});

test('Q4: the pool says when as many wait as may and refuses none that was accepted; a stop or the time ends a wait', async () => {
  const { clock, pool, take } = rig();
  await take('a');
  await take('b');
  expect(pool.isFull).toBe(false);
  const stop = new AbortController();
  const seen: number[] = [];
  const first = take('c', { signal: stop.signal });
  const second = take('d', { seen });
  expect(pool.isFull).toBe(true);
  const accepted = take('e');
  stop.abort(new Error('stopped'));
  await expect(first).rejects.toThrow('stopped');
  expect(seen).toEqual([2, 1]);
  await clock.advance(60_000);
  await expect(second).rejects.toThrow('No process was free for the task in 60 s.');
  await expect(accepted).rejects.toThrow(NoRoomError);
  expect(clock.pending).toBe(0);
  await expect(take('g', { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
});

test('idle ones beyond their bound go at once, the oldest first', async () => {
  const { take, ended } = rig({ max: 4, maxIdle: 1 });
  const places = [await take('a'), await take('b'), await take('c')];
  for (const place of places) place.use('idle');
  expect(ended).toEqual(['a', 'b']);
});

const act = fc.oneof(
  fc.record({ is: fc.constant('take' as const) }),
  fc.record({
    is: fc.constantFrom('busy' as const, 'idle' as const, 'parked' as const, 'drop' as const),
    which: fc.nat(30),
  }),
  fc.record({ is: fc.constant('cancel' as const), which: fc.nat(30) }),
  fc.record({ is: fc.constant('gone' as const), which: fc.nat(30) }),
  fc.record({ is: fc.constant('time' as const), ms: fc.nat(20_000) }),
);

interface One {
  readonly number: number;
  readonly stop: AbortController;
  state: 'waiting' | 'held' | 'over';
  use: 'busy' | 'idle' | 'parked' | 'leaving';
  place: Place | null;
}

/** Takes one, and notes what becomes of it. */
async function one(pool: ProcessPool, made: { number: number; served: number[] }): Promise<One> {
  const own: One = { number: made.number, stop: new AbortController(), state: 'waiting', use: 'busy', place: null };
  const end = () => {
    expect(own.use).not.toBe('busy');
    own.use = 'leaving';
  };
  pool.take({ signal: own.stop.signal, end }).then(
    (place) => {
      own.place = place;
      own.state = 'held';
      made.served.push(own.number);
    },
    () => (own.state = 'over'),
  );
  return own;
}

function dispose(own: One): void {
  own.state = 'over';
  own.place?.[Symbol.dispose]();
}

async function play(
  acts: readonly (typeof act extends fc.Arbitrary<infer T> ? T : never)[],
  o: PoolBounds,
  clock: ManualClock,
) {
  const pool = createProcessPool(o, { clock });
  const [all, served]: [One[], number[]] = [[], []];
  const pick = (which: number, state: One['state']) => {
    const some = all.filter((each) => each.state === state);
    return some[which % Math.max(1, some.length)];
  };
  for (const next of acts) {
    if (next.is === 'take') all.push(await one(pool, { number: all.length, served }));
    else if (next.is === 'time') await clock.advance(next.ms);
    else if (next.is === 'cancel') pick(next.which, 'waiting')?.stop.abort();
    else if (next.is === 'gone') {
      const leaving = all.filter((each) => each.state === 'held' && each.use === 'leaving');
      const own = leaving[next.which % Math.max(1, leaving.length)];
      if (own !== undefined) dispose(own);
    } else {
      const own = pick(next.which, 'held');
      if (own !== undefined && next.is === 'drop') dispose(own);
      else if (own !== undefined && next.is !== 'drop' && own.use !== 'leaving') {
        own.use = next.is;
        own.place?.use(next.is);
      }
    }
    await clock.advance(0);
    const held = all.filter(({ state }) => state === 'held');
    expect(held.length).toBeLessThanOrEqual(o.max);
    const waiting = all.filter(({ state }) => state === 'waiting');
    // Nobody waits while there is room, or could be (Q2, Q3).
    if (waiting.length > 0) expect(held.length).toBe(o.max);
    const kept = held.filter(({ use }) => use === 'parked').length;
    const leaving = held.filter(({ use }) => use === 'leaving').length;
    if (waiting.length > leaving) {
      expect(held.filter(({ use }) => use === 'idle')).toEqual([]);
      expect(kept).toBeLessThanOrEqual(o.maxParked);
    }
  }
  return { all, served };
}

test('Q1, Q2, Q4: in whatever order they come, park, are cancelled and go, never more than all places are held, the queue keeps its order, and everyone is served or told', async () => {
  const some = fc.record({
    max: fc.integer({ min: 1, max: 4 }),
    maxIdle: fc.nat(3),
    maxParked: fc.nat(3),
    maxWaiting: fc.nat(6),
    waitSeconds: fc.constant(60),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 60 }), some, async (acts, o) => {
      const clock = createManualClock();
      const { all, served } = await play(acts, o, clock);
      expect(served).toEqual(served.toSorted((a, b) => a - b));
      // All go in the end: nobody is forgotten.
      for (
        let left = all.filter(({ state }) => state === 'held');
        left.length > 0;
        left = all.filter(({ state }) => state === 'held')
      ) {
        for (const each of left) dispose(each);
        await clock.advance(0);
      }
      expect(all.every(({ state }) => state === 'over')).toBe(true);
      expect(clock.pending).toBe(0);
    }),
    { numRuns: 150 },
  );
}, 15_000);
