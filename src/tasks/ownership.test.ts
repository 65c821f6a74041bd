import { createManualClock } from '../testing/manual-clock.ts';
import { createOwnership, type Ownership, type Processes } from './ownership.ts';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import type { Clock } from '../core/clock.ts';

const second = 1_000;
const minute = 60 * second;

/** Processes on one store; each looks at the others once a second and renews when it is told to. */
function stage() {
  const store = openSqlite(':memory:');
  onTestFinished(() => store[Symbol.asyncDispose]());
  const clock = createManualClock();
  const seen = new Map<number, 'alive' | 'dead' | 'unseen'>();
  let pid = 0;
  const start = (owner: string, own: Clock = clock): Ownership & { readonly pid: number } => {
    pid += 1;
    const processes: Processes = {
      self: { place: 'here', pid, startTicks: 1 },
      look: (other) => seen.get(other.pid) ?? 'alive',
    };
    return { ...createOwnership({ store, clock: own, owner, processes }), pid };
  };
  /** Time goes on, and the listener listens. */
  const listen = async (listener: Ownership, ms: number) => {
    for (let at = 0; at < ms; at += second) {
      await clock.advance(second);
      await listener.living();
    }
    return [...(await listener.living())].toSorted();
  };
  return { store, clock, seen, start, listen };
}

test('W1: a process is there for others from its first word, and for itself always', async () => {
  const { start } = stage();
  const [a, b] = [start('a'), start('b')];
  expect([...(await a.living())]).toEqual(['a']);
  await b.present();
  expect(await a.living()).toEqual(new Set(['a', 'b']));
  await b.leave();
  expect(await a.living()).toEqual(new Set(['a']));
});

test('W2, E-826: a dead one has nothing any more, at once; its row goes', async () => {
  const { store, start, seen } = stage();
  const [a, b] = [start('a'), start('b')];
  await Promise.all([a.renew(), b.renew()]);
  seen.set(b.pid, 'dead');
  expect(await a.living()).toEqual(new Set(['a']));
  expect(await store.owners()).toMatchObject([{ owner: 'a' }]);
});

test.each(['alive', 'unseen'] as const)('W3: one that is %s and silent keeps what it has for 30 s', async (what) => {
  const { start, seen, listen } = stage();
  const [a, b] = [start('a'), start('b')];
  await b.renew();
  seen.set(b.pid, what);
  expect(await listen(a, 29 * second)).toEqual(['a', 'b']);
  expect(await listen(a, second)).toEqual(['a']);
  // It was only asleep: its next word brings it back.
  await b.renew();
  expect(await listen(a, second)).toEqual(['a', 'b']);
});

test.each([0, 1, 500, 999])(
  'E-826: of another host, %i ms after its last word first looked at: free 30 to 31 s after it',
  async (ms) => {
    const { start, clock, seen, listen } = stage();
    const [a, b] = [start('a'), start('b')];
    await listen(a, second);
    seen.set(b.pid, 'unseen');
    await b.renew();
    const saidAtMs = clock.now();
    await clock.advance(ms);
    for (let living = await a.living(); living.has('b'); living = await a.living()) await clock.advance(second);
    const tookMs = clock.now() - saidAtMs;
    expect([tookMs >= 30 * second, tookMs <= 31 * second]).toEqual([true, true]);
  },
);

test('how long it was silent counts from its last word that was stored', async () => {
  const { store, start, clock } = stage();
  const a = start('a');
  await clock.advance(second);
  expect(a.silentMs()).toBe(second);
  await a.renew();
  expect(a.silentMs()).toBe(0);
  store.putOwner = () => Promise.reject(new Error('The disk is full.'));
  await clock.advance(2 * second);
  await a.renew().catch(() => {});
  expect(a.silentMs()).toBe(2 * second);
});

test('W3: one that renews is never taken for gone, however long it works', async () => {
  const { start, listen } = stage();
  const [a, b] = [start('a'), start('b')];
  for (let round = 0; round < 30; round++) {
    await b.renew();
    expect(await listen(a, 10 * second)).toEqual(['a', 'b']);
  }
});

test('W3: what nobody has listened to for long is judged by its own word, by who starts', async () => {
  const { start, clock } = stage();
  await start('old').renew();
  await clock.advance(minute);
  await start('young').renew();
  expect(await start('new').living()).toEqual(new Set(['new', 'young']));
});

test('W3: a sleep of the machine, or a clock that is set, robs nobody', async () => {
  const { start, clock, listen } = stage();
  const [a, b] = [start('a'), start('b')];
  await b.renew();
  await listen(a, second);
  await clock.advance(60 * minute);
  expect(await listen(a, 10 * second)).toEqual(['a', 'b']);
  let wrongByMs = -2 * minute;
  const c = start('c', { ...clock, now: () => clock.now() + wrongByMs });
  await c.renew();
  expect(await listen(a, second)).toContain('c');
  wrongByMs = 2 * minute;
  await c.renew();
  expect(await listen(a, second)).toContain('c');
});

test('W3: of one whose clock is ahead, and that was never listened to before, no more than the lease is waited for', async () => {
  const { start, clock, listen } = stage();
  await start('b', { ...clock, now: () => clock.now() + 2 * minute }).renew();
  const a = start('a');
  expect(await listen(a, 29 * second)).toEqual(['a', 'b']);
  expect(await listen(a, 2 * second)).toEqual(['a']);
});

test('one that has spoken while it was judged keeps its row', async () => {
  const { store, start, listen } = stage();
  const [a, b] = [start('a'), start('b')];
  await b.renew();
  await listen(a, 29 * second);
  const { owners } = store;
  store.owners = async () => {
    const rows = await owners();
    await b.renew();
    return rows;
  };
  await listen(a, second);
  expect(await owners()).toMatchObject([{ owner: 'b' }]);
});

test('a word that could not be stored is said again by the next that needs it', async () => {
  const { store, start } = stage();
  const a = start('a');
  const { putOwner } = store;
  store.putOwner = () => Promise.reject(new Error('The disk is full.'));
  await expect(a.present()).rejects.toThrow('full');
  store.putOwner = putOwner;
  await a.present();
  expect(await store.owners()).toHaveLength(1);
});
