import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { clockServer } from './support/clock-server.ts';
import { reins, startReins, temporaryFolder } from './reins-process.ts';

const full = { REINS_DEMO_SPEED: 'full' };
const escape = String.fromCodePoint(27);

test('run answers on stdout without a colour code, ends with 0, and leaves nothing in the folder', async () => {
  const cwd = temporaryFolder();
  const { code, stdout, stderr } = await reins(['run', 'Say hello', '--model', 'demo', '--cwd', cwd], { env: full });
  expect(code).toBe(0);
  expect(stdout).toMatch(/\S.*\n$/s);
  expect(stdout + stderr).not.toContain(escape);
});

test('a prompt that is piped in is the prompt', async () => {
  const { code, stdout } = await reins(['run', '--json', '--model', 'demo'], { env: full, input: 'Say grüß Gött' });
  expect(code).toBe(0);
  expect(stdout).toContain('grüß Gött');
});

test('--json prints one event a line, the result last, nothing private', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'README.md'), 'A small project. It has two files. They are short.\n');
  const { code, stdout } = await reins(['run', 'Summarise README.md', '--json', '--model', 'demo', '--cwd', cwd], {
    env: full,
  });
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; seq: number; data: object });
  expect(code).toBe(0);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(0)?.type).toBe('run-started');
  expect(events.at(-1)?.type).toBe('run-result');
  expect(events.flatMap(({ data }) => Object.keys(data)).filter((key) => key.startsWith('_'))).toEqual([]);
});

test('the first Ctrl-C cancels, says so, and the exit code is 130', async () => {
  const run = startReins(['run', 'Count slowly to 500', '--model', 'demo', '--cwd', temporaryFolder()]);
  await run.saw('1');
  run.child.kill('SIGINT');
  expect(await run.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('Cancelling') });
});

test('a reader that leaves cancels the task: nobody would see the rest', async () => {
  const run = startReins(['run', 'Count slowly to 500', '--model', 'demo', '--cwd', temporaryFolder()]);
  await run.saw('1');
  run.child.stdout?.destroy();
  expect(await run.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('Nobody reads') });
});

test('a model that is not there is wrong use: one sentence that says where to look', async () => {
  const { code, stderr } = await reins(['run', 'x', '--model', 'no-such-model', '--cwd', temporaryFolder()]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^reins: [^\n]*'no-such-model'[^\n]*reins doctor[^\n]*\n$/);
});

test('a failing model: the person at the terminal reads who failed and how, and no key', async () => {
  const server = createServer((_, response) =>
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"not with key-1234"}}'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`;
  const { code, stderr } = await reins(['run', 'x', '--model', 'openai-compatible/m', '--cwd', temporaryFolder()], {
    env: { OPENAI_COMPATIBLE_BASE_URL: base, OPENAI_COMPATIBLE_API_KEY: 'key-1234' },
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^A model call failed \(openai-compatible\/m, status 401\): /m);
  expect(stderr).not.toMatch(/key-1234|^\s+at /m);
});

test('a call that a person has to allow ends the run with 4, and says which', async () => {
  const data = temporaryFolder();
  const mcp = [{ ...clockServer(data), permission: 'ask' }];
  writeFileSync(join(data, 'config.json'), JSON.stringify({ agent: { mcp } }));
  const prompt = 'Call the tool clock_tell with {}';
  const { code, stderr } = await reins(['run', prompt, '--model', 'demo', '--data', data], { env: full });
  expect(code).toBe(4);
  expect(stderr).toMatch(/clock_tell[^]*Waits for a person/);
});
