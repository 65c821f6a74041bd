// `POST /api/agent` with the programs of others: what their tools gave is told as that of our own.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from './support/asking-server.ts';
import { asStream, eventsOf } from './support/agent-call.ts';
import { call, reply, say } from './support/model.ts';
import { findHarnessProgram, type HarnessName } from '../src/testing/harness-programs.ts';
import { principalFolder } from './support/agent-server.ts';
import { startModelServer, type ModelServerProtocol } from '../src/testing/model-servers/model-server.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

interface Program {
  readonly protocol: ModelServerProtocol;
  readonly variable: string;
  readonly model: string;
  /** What the model calls, one a reply, and what is told of it. @param root  The workspace. */
  readonly calls: Calls;
  /** A call that does not end. */
  readonly working: readonly [name: string, input: object];
}

type Calls = (root: string) => readonly (readonly [name: string, input: object, told: string])[];

const patch = (...lines: string[]) =>
  ['apply_patch <<EOF', '*** Begin Patch', ...lines, '*** End Patch', 'EOF'].join('\n');
const endless = 'echo $$ > pid; exec sleep 1000';
const anthropic = { protocol: 'anthropic', variable: 'ANTHROPIC', model: 'anthropic/claude-opus-4-6' } as const;

const programs: Readonly<Partial<Record<HarnessName, Program>>> = {
  'claude-code': {
    ...anthropic,
    working: ['Bash', { command: endless, description: 'x' }],
    calls: (root) => [
      ['Write', { file_path: `${root}/a.txt`, content: 'öne\ntwo\n' }, '✓ ok · a.txt · 9 B written'],
      ['Read', { file_path: `${root}/a.txt` }, '✓ ok · a.txt · 2 lines · 9 B'],
      [
        'Edit',
        { file_path: `${root}/a.txt`, old_string: 'two', new_string: '3', replace_all: false },
        '✓ ok · a.txt · 1 replacement',
      ],
      ['Bash', { command: 'ls; ls', description: 'x' }, '✓ ok · ls; ls · exit=0 · stdout 2L'],
      ['Bash', { command: 'true', description: 'x' }, '✓ ok · true · exit=0 · stdout 0L'],
      ['Bash', { command: 'exit 3', description: 'x' }, '✗ failed · Exit code 3'],
      ['Nothing', {}, '✗ failed · Error: No such tool available: Nothing'],
      [
        'Read',
        { file_path: `${root}/b.txt` },
        '✗ failed · File does not exist. Note: your current working directory is ..',
      ],
    ],
  },
  pi: {
    ...anthropic,
    working: ['bash', { command: endless }],
    calls: (root) => [
      ['write', { path: 'a.txt', content: 'öne\ntwo\n' }, '✓ ok · a.txt · 9 B written'],
      ['read', { path: `${root}/a.txt` }, '✓ ok · a.txt · 2 lines · 9 B'],
      ['read', { path: 'a.txt', limit: 1 }, '✓ ok · a.txt truncated · 1 lines · 4 B'],
      [
        'edit',
        {
          path: 'a.txt',
          edits: [
            { oldText: 'two', newText: '3' },
            { oldText: 'öne', newText: '1' },
          ],
        },
        '✓ ok · a.txt · 2 replacements',
      ],
      ['bash', { command: 'ls; ls' }, '✓ ok · ls; ls · exit=0 · stdout 2L'],
      ['bash', { command: 'true' }, '✓ ok · true · exit=0 · stdout 0L'],
      ['bash', { command: 'echo no; exit 3' }, '✗ failed · no'],
    ],
  },
  codex: {
    protocol: 'openai-responses',
    variable: 'OPENAI',
    model: 'openai/gpt-5.4',
    working: ['exec_command', { cmd: endless }],
    calls: () => [
      ['exec_command', { cmd: "printf 'a b' > a.txt; ls" }, "✓ ok · printf 'a b' > a.txt; ls · exit=0 · stdout 1L"],
      ['exec_command', { cmd: 'exit 3' }, '✗ failed · Exit code: 3'],
      ['exec_command', { cmd: patch('*** Add File: c.txt', '+öne', '+two') }, '✓ ok · c.txt · 9 B written'],
      ['exec_command', { cmd: patch('*** Update File: c.txt', '@@', '-two', '+3') }, '✓ ok · c.txt · 1 replacement'],
    ],
  },
};

/** A server whose turns that program has, with a model that makes these calls. */
async function open(base: string, { protocol, variable, model: name, calls }: Program) {
  const found = findHarnessProgram(base as HarnessName, process.env);
  const program = found.kind === 'found' ? (found.args[0] ?? found.command) : '';
  const data = temporaryFolder();
  let asked = 0;
  const model = await startModelServer(protocol, ({ body }) => {
    if (!Array.isArray(body['tools']) || body['tools'].length === 0) return say('A title');
    const next = calls(principalFolder({ data }))[asked++];
    return next === undefined ? say('Done.') : reply(call(`call_${asked}`, next[0], next[1]));
  });
  const place = await startServer({
    data,
    env: { [`${variable}_BASE_URL`]: model.baseURL, [`${variable}_API_KEY`]: 'provider-key-of-the-test' },
    settings: { models: { default: name }, harnesses: { preferred: base, programs: { [base]: program } } },
  });
  return {
    data,
    model,
    url: place.url,
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await model.close();
    },
  };
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

for (const [base, program] of Object.entries(programs)) {
  const isAbsent = findHarnessProgram(base as HarnessName, process.env).kind === 'absent';
  test.skipIf(isAbsent)(
    `A-033, A-054: ${base}: paths, counts and status as for tools of our own`,
    async () => {
      await using place = await open(base, program);
      const events = await eventsOf(asStream(place.url, { prompt: 'Go.' }));
      const told = events.flatMap((event) =>
        event.type === 'tool_result' ? [event.summary.slice(event.name.length + 3)] : [],
      );
      expect(told).toEqual(
        program.calls(principalFolder(place)).map(([, , summary]) => expect.stringContaining(summary)),
      );
      expect(told.map((summary) => summary.includes(place.data))).not.toContain(true);
      expect(events.at(-1)).toMatchObject({ type: 'done', text: 'Done.', cwd: '.' });
    },
    60_000,
  );

  test.skipIf(isAbsent)(
    `A-030: ${base}: a caller who goes away ends the program, what it has started, and its call to the model`,
    async () => {
      const [name, input] = program.working;
      await using place = await open(base, { ...program, calls: () => [[name, input, '']] });
      const caller = new AbortController();
      const asked = asStream(place.url, { prompt: 'Go.' }, { signal: caller.signal });
      const pid = await eventually(() => {
        const path = existsSync(join(place.data, 'principals')) ? join(principalFolder(place), 'pid') : '';
        return existsSync(path) ? Number(readFileSync(path, 'utf8')) || undefined : undefined;
      }, 30_000);
      caller.abort();
      await eventually(() => !isAlive(pid) || undefined, 10_000);
      await eventually(() => place.model.open === 0 || undefined, 1_000);
      expect((await asked).status).toBe(200);
    },
    60_000,
  );
}
