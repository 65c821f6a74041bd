import { maxTodos, normaliseTodos, todoCounts, todoStatuses } from '../../core/todos.ts';
import { objectSchema } from './file-tool.ts';
import type { Todo } from '../../core/run-event.ts';
import type { Tool } from '../tool.ts';

const policies = { useKind: 'readonly', replay: 'safe', concurrent: false } as const;

/**
 * `write_todos` and `read_todos` (E-640). Neither has an effect: the engine takes the new list from the input of the call.
 * @param current  The session's list as it is now.
 */
export function createTodoTools(current: () => readonly Todo[]): readonly Tool[] {
  return [
    {
      ...policies,
      name: 'write_todos',
      description:
        'Sets the task list. Give the complete new list each time, at most one entry in progress. Use it to plan work of several steps, and keep it up to date.',
      inputSchema: objectSchema({ todos: { type: 'array', maxItems: maxTodos, items: todoSchema } }, ['todos']),
      async run(input) {
        const result = normaliseTodos(input);
        if (!result.ok) return { content: `The list was not changed. ${result.why}`, isError: true };
        return { content: [summary(result.todos), ...(result.note === null ? [] : [result.note])].join('\n') };
      },
    },
    {
      ...policies,
      name: 'read_todos',
      description: 'Shows the task list.',
      inputSchema: objectSchema({}, []),
      async run() {
        const todos = current();
        return {
          content: [summary(todos), ...todos.map(({ content, status }) => `[${status}] ${content}`)].join('\n'),
        };
      },
    },
  ];
}

const todoSchema = objectSchema({ content: { type: 'string' }, status: { type: 'string', enum: todoStatuses } }, [
  'content',
  'status',
]);

function summary(todos: readonly Todo[]): string {
  if (todos.length === 0) return 'The task list is empty.';
  const { completed, total, inProgress } = todoCounts(todos);
  return `${completed} of ${total} completed; in progress: ${inProgress ?? 'nothing'}.`;
}
