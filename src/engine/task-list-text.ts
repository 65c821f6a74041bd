import { todoCounts } from '../core/todos.ts';
import type { Todo } from '../core/run-event.ts';

const heading = 'The task list as it stands now, for reference (nobody said this):';

/** The task list as the last part of a request (E-642). */
export function taskListText(todos: readonly Todo[]): string {
  const { completed, total } = todoCounts(todos);
  const lines = todos.map(({ content, status }) => `[${status}] ${content}`);
  return [heading, ...lines, `${completed} of ${total} completed.`].join('\n');
}

/** Whether a text of a request is no one's words but the task list. */
export function isTaskListText(text: string): boolean {
  return text.startsWith(heading);
}
