import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRunSlots, type RunSlot } from './run-slots.ts';

const never = new AbortController().signal;

/** The names of those that may begin, in the order in which they might. */
function rig(bounds: Parameters<typeof createRunSlots>[0]) {
  const slots = createRunSlots(bounds);
  const begun: string[] = [];
  const join = (name: string, slot: RunSlot | null, signal = never) => {
    slot?.free(signal).then(
      () => begun.push(name),
      () => {},
    );
    return slot;
  };
  const seen = async () => {
    await new Promise(setImmediate);
    return begun.join('');
  };
  return { slots, join, seen };
}

test('UD-59: what is over the bound waits, and begins in order as others end', async () => {
  const { slots, join, seen } = rig({ concurrent: 2, queued: 10 });
  const [a, b] = ['a', 'b', 'c', 'd'].map((name) => join(name, slots.take()));
  expect(await seen()).toBe('ab');
  b?.[Symbol.dispose]();
  expect(await seen()).toBe('abc');
  a?.[Symbol.dispose]();
  a?.[Symbol.dispose]();
  expect(await seen()).toBe('abcd');
  expect(slots.take()).not.toBeNull();
});

test('UD-59: a full queue takes nothing new, but what was begun before', async () => {
  const { slots, join, seen } = rig({ concurrent: 1, queued: 1 });
  const first = join('a', slots.take());
  join('b', slots.take());
  expect(slots.take()).toBeNull();
  join('r', slots.takeAgain());
  first?.[Symbol.dispose]();
  expect(await seen()).toBe('ar');
});

test('UT-17: one that is stopped while it waits leaves the queue, and its place in it is free', async () => {
  const { slots, join, seen } = rig({ concurrent: 1, queued: 1 });
  const first = join('a', slots.take());
  const stop = new AbortController();
  const waiting = slots.take();
  const refused = expect(waiting?.free(stop.signal)).rejects.toBe('stopped');
  stop.abort('stopped');
  await refused;
  waiting?.[Symbol.dispose]();
  join('c', slots.take());
  first?.[Symbol.dispose]();
  expect(await seen()).toBe('ac');
});

test('S1, S4: whoever comes and goes in whatever order, no more than the bound hold a place, and none is lost', async () => {
  const step = fc.oneof(
    fc.constant({ do: 'take' } as const),
    fc.constant({ do: 'again' } as const),
    fc.record({ do: fc.constant('leave' as const), which: fc.nat(20) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 40 }), async (concurrent, steps) => {
      const slots = createRunSlots({ concurrent, queued: 2 });
      const here = new Set<RunSlot>();
      const held = new Set<RunSlot>();
      for (const each of steps) {
        const slot = each.do === 'take' ? slots.take() : each.do === 'again' ? slots.takeAgain() : null;
        if (slot !== null) {
          here.add(slot);
          void slot.free(never).then(() => held.add(slot));
        }
        if (each.do === 'leave') {
          const gone = [...here][each.which % Math.max(1, here.size)];
          gone?.[Symbol.dispose]();
          for (const set of [here, held]) if (gone !== undefined) set.delete(gone);
        }
        await Promise.resolve();
        await new Promise(setImmediate);
        expect(held.size).toBe(Math.min(concurrent, here.size));
      }
    }),
    { numRuns: 100 },
  );
});
