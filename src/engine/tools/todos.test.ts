import { expect, test } from 'vitest';
import { createTodoTools } from './todos.ts';
import { createToolbox } from '../prepare-call.ts';
import { toolContext } from '../../testing/tool-context.ts';
import type { JsonValue } from '../../core/json.ts';
import type { Todo } from '../../core/run-event.ts';

const list: readonly Todo[] = [
  { content: 'Read', status: 'completed' },
  { content: 'Write', status: 'in_progress' },
];
const run = (name: string, input: JsonValue, current: readonly Todo[] = []) =>
  createTodoTools(() => current)
    .find((tool) => tool.name === name)
    ?.run(input, toolContext());

test('E-640: write_todos answers with the state of the list and mentions what was changed in it', async () => {
  expect(await run('write_todos', { todos: list.map((todo) => ({ ...todo })) })).toEqual({
    content: '1 of 2 completed; in progress: Write.',
  });
  const twice = [...list, { content: 'Test', status: 'in_progress' }].map((todo) => ({ ...todo }));
  expect((await run('write_todos', { todos: twice }))?.content).toMatch(
    /^1 of 3 completed; in progress: Write\.\nOnly one/,
  );
  expect(await run('write_todos', { todos: [] })).toEqual({ content: 'The task list is empty.' });
  expect(await run('write_todos', { todos: [{}] })).toMatchObject({ isError: true });
});

test('E-640: read_todos gives the list', async () => {
  expect(await run('read_todos', {}, list)).toEqual({
    content: '1 of 2 completed; in progress: Write.\n[completed] Read\n[in_progress] Write',
  });
  expect(await run('read_todos', {})).toEqual({ content: 'The task list is empty.' });
});

test('E-640: both tools are safe, neither is concurrent, and their schemas take what the rules take', async () => {
  const tools = createTodoTools(() => []);
  for (const tool of tools) expect(tool).toMatchObject({ useKind: 'readonly', replay: 'safe', concurrent: false });
  const toolbox = createToolbox(tools);
  const verdict = async (name: string, input: JsonValue) =>
    (await toolbox.prepare({ id: '1', name, arguments: JSON.stringify(input) })).verdict;
  expect(await verdict('write_todos', { todos: list.map((todo) => ({ ...todo })) })).toBe('run');
  expect(await verdict('write_todos', { todos: [{ content: 'a', status: 'done' }] })).toBe('refuse');
  expect(await verdict('read_todos', {})).toBe('run');
});
