import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normaliseTodos, todoCounts } from './todos.ts';
import type { Todo } from './run-event.ts';

const todo = fc.record<Todo>({
  content: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }).filter((text) => text.trim() !== ''),
  status: fc.constantFrom('pending', 'in_progress', 'completed'),
});

test('E-640: a valid list keeps order and texts, cut between code points, with at most one entry in progress', () => {
  fc.assert(
    fc.property(fc.array(todo, { maxLength: 50 }), (given) => {
      const result = normaliseTodos({ todos: given.map((entry) => ({ ...entry })) });
      if (!result.ok) throw new Error(result.why);
      const active = given.findIndex(({ status }) => status === 'in_progress');
      for (const [index, { content, status }] of result.todos.entries()) {
        const before = given[index];
        expect(before?.content.startsWith(content) && content.isWellFormed()).toBe(true);
        expect(content.length).toBeGreaterThanOrEqual(Math.min(before?.content.length ?? 0, 199));
        expect(content.length).toBeLessThanOrEqual(200);
        expect(status).toBe(before?.status === 'in_progress' && index !== active ? 'pending' : before?.status);
      }
      expect(result.todos).toHaveLength(given.length);
      expect(result.note === null).toBe(given.filter(({ status }) => status === 'in_progress').length <= 1);
      expect(normaliseTodos({ todos: result.todos.map((entry) => ({ ...entry })) })).toEqual({ ...result, note: null });
    }),
  );
});

test('E-640: any other invalid list is refused, and the entry at fault is named', () => {
  const entry = { content: 'a', status: 'pending' };
  for (const input of [
    null,
    [],
    {},
    { todos: null },
    { todos: 'a' },
    { todos: Array.from({ length: 51 }, () => entry) },
  ])
    expect(normaliseTodos(input)).toMatchObject({ ok: false });
  for (const bad of [null, 'a', {}, { ...entry, status: 'done' }, { ...entry, content: ' ' }, { ...entry, content: 7 }])
    expect(normaliseTodos({ todos: [entry, bad] })).toMatchObject({
      ok: false,
      why: expect.stringContaining('Entry 2'),
    });
});

test('E-640: an empty list clears it; keys beside content and status are dropped', () => {
  expect(normaliseTodos({ todos: [] })).toEqual({ ok: true, todos: [], note: null });
  const todos = [{ content: 'a', status: 'completed', id: 1 }];
  expect(normaliseTodos({ todos })).toMatchObject({ todos: [{ content: 'a', status: 'completed' }] });
});

test('E-641: the counts belong to the list', () => {
  const todos: readonly Todo[] = [
    { content: 'a', status: 'completed' },
    { content: 'b', status: 'in_progress' },
    { content: 'c', status: 'pending' },
  ];
  expect(todoCounts(todos)).toEqual({ todos, completed: 1, total: 3, inProgress: 'b' });
  expect(todoCounts([])).toEqual({ todos: [], completed: 0, total: 0, inProgress: null });
});
