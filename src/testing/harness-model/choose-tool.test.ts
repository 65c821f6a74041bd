import { describe, expect, test } from 'vitest';
import { chooseTool, type Wish } from './choose-tool.ts';
import type { Conversation, OfferedTool } from './conversation.ts';

const offered = (name: string, properties: Record<string, unknown> = {}): OfferedTool => ({
  kind: 'function',
  name,
  properties,
});
const among = (...tools: OfferedTool[]): Conversation => ({
  system: '',
  turns: [{ from: 'user', text: 'Environment:\n - Primary working directory: /home/me/project\n' }],
  tools,
});
const chosen = (wish: Wish, ...tools: OfferedTool[]) => {
  const choice = chooseTool(wish, among(offered('other'), ...tools));
  return choice === null ? null : [choice.tool.name, JSON.parse(choice.input)];
};

describe('H-801: the shell tool of each runtime gets the command in its own form', () => {
  const string = { type: 'string' };
  test.each([
    [offered('Bash', { command: string, description: string }), { command: 'ls', description: 'Run it' }],
    [offered('bash', { command: string, timeoutSeconds: {} }), { command: 'ls' }],
    [offered('exec_command', { cmd: string }), { cmd: 'ls' }],
    [offered('shell', { command: { type: 'array' } }), { command: ['bash', '-lc', 'ls'] }],
    [offered('run_shell_command', { command: string }), { command: 'ls' }],
  ])('$name', (tool, input) => {
    expect(chosen({ kind: 'shell', command: 'ls' }, tool)).toEqual([tool.name, input]);
  });

  test('none is offered: no call', () => {
    expect(chosen({ kind: 'shell', command: 'ls' })).toBeNull();
  });
});

describe('files', () => {
  const write: Wish = { kind: 'write', path: 'a.txt', content: 'one\ntwo\n' };

  test('a path that must be absolute is below the working directory of which the model was told', () => {
    expect(chosen(write, offered('Write', { file_path: {}, content: {} }))).toEqual([
      'Write',
      { file_path: '/home/me/project/a.txt', content: 'one\ntwo\n' },
    ]);
    expect(chosen({ kind: 'read', path: '/etc/hosts' }, offered('read', { filePath: {} }))).toEqual([
      'read',
      { filePath: '/etc/hosts' },
    ]);
    expect(chosen({ kind: 'read', path: 'a.txt' }, offered('read_file', { path: {} }))).toEqual([
      'read_file',
      { path: 'a.txt' },
    ]);
  });

  test('a patch tool takes free text, and goes before the shell', () => {
    const patch: OfferedTool = { kind: 'custom', name: 'apply_patch', properties: {} };
    const choice = chooseTool(write, among(offered('exec_command', { cmd: {} }), patch));
    expect(choice).toEqual({
      tool: patch,
      input: '*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch',
    });
  });

  test('where there is only a shell, it writes and reads', () => {
    const shell = offered('exec_command', { cmd: {} });
    expect(chosen(write, shell)).toEqual(['exec_command', { cmd: `printf %s 'one\ntwo\n' > a.txt` }]);
    expect(chosen({ kind: 'read', path: 'a.txt' }, shell)).toEqual(['exec_command', { cmd: 'cat a.txt' }]);
  });
});

test('an MCP tool is found by a part of its name and keeps its namespace', () => {
  const tool: OfferedTool = { ...offered('echo'), namespace: 'mcp__echo' };
  expect(chooseTool({ kind: 'mcp', name: 'echo' }, among(offered('TaskEcho'), tool))).toEqual({
    tool,
    input: '{"text":"hi"}',
  });
});

test('a question has the form that its tool asks for', () => {
  for (const name of ['AskUserQuestion', 'request_user_input', 'question', 'ask_user', 'ask_user_questions'])
    expect(chosen({ kind: 'ask' }, offered(name))).toEqual([
      name,
      { questions: [expect.objectContaining({ question: 'Red or blue?' })] },
    ]);
});

test('a tool that nobody offers is called by its name', () => {
  expect(chosen({ kind: 'named', name: 'no_such_tool', input: { a: 1 } })).toEqual(['no_such_tool', { a: 1 }]);
});
