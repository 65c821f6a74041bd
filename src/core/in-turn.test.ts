import { expect, test } from 'vitest';
import { createInTurn } from './in-turn.ts';

test('works of one key follow each other, whatever becomes of them; those of others do not wait', async () => {
  const inTurn = createInTurn();
  const [done, gate] = [[] as string[], Promise.withResolvers<void>()];
  const one = inTurn('a', async () => {
    await gate.promise;
    done.push('one');
    throw new Error('one');
  });
  const two = inTurn('a', async () => void done.push('two'));
  await inTurn('b', async () => void done.push('other'));
  gate.resolve();
  const ends = await Promise.allSettled([one, two]);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect(done).toEqual(['other', 'one', 'two']);
});
