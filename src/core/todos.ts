import { head, toWellFormed } from './text.ts';
import { isJsonObject, type JsonValue } from './json.ts';
import type { EventData, Todo } from './run-event.ts';

export const maxTodos = 50;
const maxContentUnits = 200;
export const todoStatuses: readonly Todo['status'][] = ['pending', 'in_progress', 'completed'];

export type NormalisedTodos =
  /** `note`: what was changed in the list, for the model; null when nothing was. */
  | { readonly ok: true; readonly todos: readonly Todo[]; readonly note: string | null }
  | { readonly ok: false; readonly why: string };

/** The new list in the input of a `write_todos` call, by the rules of E-640. The engine and the tool read it alike. */
export function normaliseTodos(input: JsonValue): NormalisedTodos {
  const given = isJsonObject(input) ? input['todos'] : undefined;
  if (!Array.isArray(given)) return { ok: false, why: "'todos' must be the complete list." };
  if (given.length > maxTodos)
    return { ok: false, why: `The list may have ${maxTodos} entries; this one has ${given.length}.` };
  const todos: Todo[] = [];
  for (const [index, entry] of given.entries()) {
    const todo = readTodo(entry);
    if (typeof todo === 'string') return { ok: false, why: `Entry ${index + 1} ${todo}` };
    todos.push(todo);
  }
  const active = todos.findIndex(({ status }) => status === 'in_progress');
  const single = todos.map((todo, index): Todo =>
    todo.status === 'in_progress' && index !== active ? { ...todo, status: 'pending' } : todo,
  );
  const changed = single.some((todo, index) => todo !== todos[index]);
  const note = changed
    ? 'Only one entry can be in progress: the first keeps that status, the others are pending.'
    : null;
  return { ok: true, todos: single, note };
}

function readTodo(entry: JsonValue): Todo | string {
  const { content, status } = isJsonObject(entry) ? entry : {};
  if (typeof content !== 'string' || content.trim() === '') return 'needs a text as its content.';
  const known = todoStatuses.find((name) => name === status);
  if (known === undefined) return `needs one of these as its status: ${todoStatuses.join(', ')}.`;
  return { content: head(toWellFormed(content), maxContentUnits), status: known };
}

/** The list with its counts (E-641). */
export function todoCounts(todos: readonly Todo[]): EventData['todos-updated'] {
  const completed = todos.filter(({ status }) => status === 'completed').length;
  const inProgress = todos.find(({ status }) => status === 'in_progress')?.content ?? null;
  return { todos, completed, total: todos.length, inProgress };
}
