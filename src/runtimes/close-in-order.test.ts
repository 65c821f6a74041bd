import { expect, test } from 'vitest';
import { closeInOrder } from './close-in-order.ts';

test('E-024: parts are closed one after the other, all of them, and what failed is told together', async () => {
  const closed: string[] = [];
  const part = (name: string, fault?: Error) => ({
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => setImmediate(resolve));
      closed.push(name);
      if (fault !== undefined) throw fault;
    },
  });
  const [one, two] = [new Error('one'), new Error('two')];
  const closing = closeInOrder([part('a', one), part('b'), part('c', two)]);
  await expect(closing).rejects.toMatchObject({ name: 'AggregateError', errors: [one, two] });
  expect(closed).toEqual(['a', 'b', 'c']);
});
