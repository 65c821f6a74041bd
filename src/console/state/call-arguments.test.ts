import { expect, test } from 'vitest';
import { askedLine } from './call-arguments.ts';

test.each([
  [{ command: 'npm  test\n', cwd: 'src' }, 'npm test'],
  [{ path: 'a.ts', content: '{\n  "a": 1\n}' }, 'a.ts'],
  [{ count: 2, deep: true }, 'count: 2 · deep: true'],
  [{ todos: [{ content: 'x', status: 'pending' }] }, ''],
  [{ todos: [], note: 'none' }, 'todos: [] · note: none'],
  [{}, ''],
])('of what a call was made with its line says most, in plain values alone: %j', (args, line) => {
  expect(askedLine(JSON.stringify(args))).toBe(line);
});
