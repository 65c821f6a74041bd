import { expect, test } from 'vitest';
import { effortByName, parseEffort } from './reasoning-effort.ts';

test('A-060: an effort is read in any case and white space; anything else is none', () => {
  expect(parseEffort(' High\n')).toBe('high');
  expect(parseEffort('PROVIDER-DEFAULT')).toBe('provider-default');
  expect(parseEffort('xhigh')).toBeUndefined();
  expect(parseEffort('')).toBeUndefined();
});

test.each([
  ['grok-4-Reasoning', 'provider-default'],
  ['kimi-k2-thinking', 'provider-default'],
  ['grok-4-fast-non-reasoning', undefined],
  ['nonreasoning-thinking', undefined],
  ['gpt-5.4', undefined],
])('A-060: where none is set, %s is asked for %s', (model, effort) => {
  expect(effortByName(model)).toBe(effort);
});
