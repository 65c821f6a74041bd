import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findScript } from './find-script.ts';
import type { Turn } from './conversation.ts';

const user = (text: string): Turn => ({ from: 'user', text });
const result = (text: string): Turn => ({ from: 'tool', text });
const plain = fc.record({
  from: fc.constantFrom('user' as const, 'tool' as const),
  text: fc.string().filter((text) => !text.includes('[')),
});

test('H-800: whatever stands around it, the last known marker of a user counts, and the results after it', () => {
  fc.assert(
    fc.property(fc.array(plain), fc.string(), fc.array(plain), (before, around, after) => {
      const quiet = around.replaceAll(/[[\]]/g, '');
      const marked = user(`${quiet}[[think]]${quiet}[[tool:now]] ${quiet} [[nobody]]`);
      expect(findScript([user('[[ls]]'), ...before, marked, ...after])).toMatchObject({
        name: 'tool',
        argument: 'now',
        results: after.filter(({ from }) => from === 'tool').map(({ text }) => text),
      });
    }),
  );
});

test('without a marker it is plain text, and a marker in the answer of a tool is none', () => {
  expect(findScript([])).toEqual({ name: 'text', argument: undefined, earlier: [], results: [] });
  expect(findScript([user('Hello'), result('[[tool]]')])).toMatchObject({ name: 'text', results: ['[[tool]]'] });
});

test('a name that objects inherit is no script', () => {
  expect(findScript([user('[[constructor]]')]).name).toBe('text');
});

test('what users said before comes without markers', () => {
  const turns = [user('[[text]] One.'), result('x'), user('Two.'), user('[[recall]] What?'), user('Reminder')];
  expect(findScript(turns)).toMatchObject({ name: 'recall', earlier: ['One.', 'Two.'] });
});

test('an order that needs no marker is obeyed, with what came of its tools since', () => {
  const order = { from: 'user', text: 'Reply with exactly: two' } as const;
  const found = findScript([{ from: 'user', text: '[[ls]]' }, order, { from: 'tool', text: 'done' }]);
  expect(found).toMatchObject({ name: 'plain', argument: order.text, results: ['done'] });
});
