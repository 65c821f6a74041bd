import { expect, test } from 'vitest';
import { spentBy, spentByAll } from './session-spending.ts';

test('what nobody told is absent, of a task and of all together', () => {
  expect(spentBy({ usage: null, metadata: {} })).toEqual({});
  expect(spentBy({ metadata: { reins_cost: 'x' }, usage: 'x' })).toEqual({});
  expect(spentByAll([{}, {}])).toEqual({});
  expect(spentByAll([{ reins_usage: { input_tokens: 1 } }, {}, { reins_usage: { output_tokens: 2 } }])).toEqual({
    reins_usage: { input_tokens: 1, output_tokens: 2 },
  });
});

test('UD-48: the cost of all is estimated where one of them is, or used something at an unknown price', () => {
  const task = (estimated: boolean) => ({
    reins_usage: { input_tokens: 1 },
    reins_cost: { dollars: 0.5, estimated },
  });
  expect(spentByAll([task(false), task(false), {}]).reins_cost).toEqual({ dollars: 1, estimated: false });
  expect(spentByAll([task(false), task(true)]).reins_cost).toEqual({ dollars: 1, estimated: true });
  expect(spentByAll([task(false), { reins_usage: { input_tokens: 1 } }]).reins_cost?.estimated).toBe(true);
});
