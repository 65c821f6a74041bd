// The task list as a fold of its calls: the engine reads it from the log, so that every driver tells the same (E-641).

import { normaliseTodos, todoCounts } from '../core/todos.ts';
import type { EventDraft, Todo } from '../core/run-event.ts';
import type { RunState } from '../core/run-state.ts';

/** The list after what the open batch wrote so far; null when this run has none. */
export function todosAfterBatch({ open, todos }: RunState): readonly Todo[] | null {
  const written = (open?.calls ?? []).flatMap(({ progress }) => {
    if (progress.at !== 'answered' || progress.name !== 'write_todos' || progress.outcome !== 'ok') return [];
    const list = normaliseTodos(progress.input);
    return list.ok ? [list.todos] : [];
  });
  return written.at(-1) ?? todos;
}

/** At the end of a batch: one event if the list is another than before it (E-642). `earlier`: the session's, from before. */
export function todosChanged(state: RunState, earlier: readonly Todo[] | null): readonly EventDraft[] {
  const after = todosAfterBatch(state);
  if (after === null || after === state.todos || sameTodos(after, state.todos ?? earlier ?? [])) return [];
  return [{ type: 'todos-updated', data: todoCounts(after), step: state.step, attempt: 0 }];
}

function sameTodos(one: readonly Todo[], other: readonly Todo[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ content, status }, index) => content === other[index]?.content && status === other[index]?.status)
  );
}
