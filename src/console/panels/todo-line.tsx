import { useState } from 'react';
import { Icon, type IconName } from './icon.tsx';
import { todoLine } from '../state/status.ts';
import { useConsole } from './use-console.ts';

const marks: Readonly<Record<string, IconName>> = { completed: 'check', in_progress: 'more', cancelled: 'close' };

/** `2/5 · <current item>`, and all of them on opening (C-052). */
export function TodoLine() {
  const [open, setOpen] = useState(false);
  const line = useConsole(todoLine);
  const todos = useConsole((state) => state.todos);
  if (line === null || todos === null) return null;
  return (
    <section className="todos" aria-label="Tasks">
      <button type="button" className="todo-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="list" />
        <span className="todo-now">{line}</span>
        <progress value={todos.completed} max={todos.total} aria-label="Tasks done" />
        <Icon name="chevron" />
      </button>
      {open && (
        <ol className="todo-list">
          {todos.items.map(({ content, status }, at) => (
            // The list comes whole each time, and has no ids.
            <li key={at} className={`todo todo-${status}`}>
              <Icon name={marks[status] ?? 'wait'} />
              <span>{content}</span>
              <span className="spoken">{status.replace('_', ' ')}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
