// The public clients for Python, from the package index and unchanged, against a real server: `uhp` with `harnessrouter`
// below it, and OpenAI's own. Where there is no `python3` or no index, the tests say so and are skipped.

import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';

const run = promisify(execFile);
const packages = [
  'uhp==0.1.0',
  'harnessrouter==0.1.0',
  'harnessclientprotocol==0.1.0',
  'unifiedharnessprotocol==0.1.0',
  'openai==3.57.0',
];

let folder: string;
let server: RunningServer;
/** Why there is no client here; null: there is. */
let missing: string | null = null;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reins-python-'));
  server = await startServer();
  try {
    await run('python3', ['-m', 'venv', folder]);
    const quick = [
      '--retries',
      '1',
      '--timeout',
      '15',
      '--no-cache-dir',
      '--no-compile',
      '--only-binary=:all:',
      '--disable-pip-version-check',
      '--quiet',
    ];
    await run(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', ...quick, ...packages]);
  } catch (cause) {
    missing = `python3 with venv, or the package index, is missing here: ${String(cause).slice(0, 300)}`;
  }
}, 180_000);
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function play({ skip }: TestContext, script: string): Promise<Record<string, unknown>> {
  if (missing !== null) return skip(missing);
  const env = { ...process.env, UHP_BASE_URL: server.url, UHP_API_KEY: ownerKey };
  const { stdout } = await run(join(folder, 'bin', 'python'), [join('test', 'fixtures', script)], { env });
  return JSON.parse(stdout) as Record<string, unknown>;
}

test('the client `uhp` discovers, runs, streams, goes on, collects files, cancels, deletes and reads every fault', async (context) => {
  expect(await play(context, 'uhp_client.py')).toEqual({
    discovery: [true, []],
    class: 'full',
    same_harness: true,
    available: ['demo'],
    bases: ['native'],
    run: { status: 'completed', text: 'hello' },
    stored: true,
    waited: 'completed',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Reply with exactly: hello' }] }],
    stream: { status: 'completed', text: expect.stringContaining('5'), sequence: [true, []] },
    same_session: true,
    file: 'kept',
    listed: ['notes.txt'],
    turns: 2,
    session: true,
    sessions: 1,
    repeated: true,
    background: 'in_progress',
    cancelled: ['cancelled', 'cancelled'],
    faults: {
      unknown: [404, 'invalid_request_error', 'response_not_found', false],
      wrong: [400, 'invalid_request_error', 'invalid_input', false],
      key: [401, 'authentication_error', 'invalid_credential', false],
      version: [400, 'invalid_request_error', 'unsupported_protocol_version', false],
    },
    deleted: [404, 'invalid_request_error', 'response_not_found', false],
    session_deleted: [404, 'invalid_request_error', 'session_not_found', false],
  });
});

test("OpenAI's client for Python creates, streams, uploads, goes on, resumes and cancels", async (context) => {
  expect(await play(context, 'openai_client.py')).toEqual({
    create: ['completed', 'hello'],
    stream: [expect.stringContaining('5'), 'response.completed'],
    numbers_rise: true,
    upload: ['notes.txt', 4],
    file: ['completed', true, true],
    background: 'in_progress',
    cancelled: 'cancelled',
    ends_cancelled: ['response.failed', 'cancelled'],
    resumed: 2,
    unknown: 'response_not_found',
  });
});
