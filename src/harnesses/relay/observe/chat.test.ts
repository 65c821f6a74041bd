import { expect, test } from 'vitest';
import { readChat } from './chat.ts';

test('H-203: the calls of a reply are counted by the piece that has their name, streamed or whole', () => {
  const pieces = [
    { index: 0, id: 'a', function: { name: 'f', arguments: '' } },
    { index: 1, function: { name: 'g' } },
  ];
  const more = { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '{}' } }] } }] };
  expect(readChat({ choices: [{ delta: { tool_calls: pieces } }] }).calls).toBe(2);
  expect(readChat({ choices: [{ message: { tool_calls: pieces } }] }).calls).toBe(2);
  expect(readChat(more).calls).toBe(0);
});
