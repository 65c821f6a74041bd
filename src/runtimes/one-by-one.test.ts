import fc from 'fast-check';
import { expect, test } from 'vitest';
import { oneByOne } from './one-by-one.ts';

interface Item {
  readonly n: number;
}

function itemsOf(numbers: readonly number[]): readonly Item[] {
  return numbers.map((n) => ({ n }));
}

async function* batchesOf(batches: readonly (readonly number[])[]): AsyncGenerator<readonly Item[]> {
  for (const batch of batches) yield itemsOf(batch);
}

const numbers = fc.array(fc.array(fc.nat(), { maxLength: 4 }), { maxLength: 6 });

test('every item comes once and in order, whatever the batches are, empty ones too', async () => {
  await fc.assert(
    fc.asyncProperty(numbers, async (batches) => {
      expect(await Array.fromAsync(oneByOne(batchesOf(batches)))).toEqual(itemsOf(batches.flat()));
    }),
  );
});

test('who asks for several at once gets each item once and in order, then the end as often as it is asked for', async () => {
  await fc.assert(
    fc.asyncProperty(numbers, async (batches) => {
      const items = oneByOne(batchesOf(batches));
      const all = itemsOf(batches.flat());
      const got = await Promise.all(Array.from({ length: all.length + 2 }, () => items.next()));
      expect(got.map(({ value }): unknown => value)).toEqual([...all, undefined, undefined]);
    }),
  );
});

test('a failure comes after the items before it, and once', async () => {
  async function* failing() {
    yield itemsOf([1]);
    throw new Error('The log is gone.');
  }
  const items = oneByOne(failing());
  expect(await items.next()).toEqual({ done: false, value: { n: 1 } });
  await expect(items.next()).rejects.toThrow('The log is gone.');
  expect(await items.next()).toEqual({ done: true, value: undefined });
});

test('E-032: leaving closes the batches and drops what was not read of them', async () => {
  let closed = false;
  async function* open() {
    try {
      yield itemsOf([1, 2, 3]);
    } finally {
      closed = true;
    }
  }
  const items = oneByOne(open());
  await items.next();
  await items.return?.();
  expect(closed).toBe(true);
  expect(await items.next()).toEqual({ done: true, value: undefined });
});
