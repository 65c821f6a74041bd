// Runtimes that do what none should, as programs behind the real adapters (H-942). Each act is in `support/stub-programs.ts`.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { answerOf, isDelta, type Body } from './support/event-stream.ts';
import { connect } from '../src/client/index.ts';
import { ended, finalOf, key, whole } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { join } from 'node:path';
import { placeStubs, processesOf, stubBases, type StubBase } from './support/stub-programs.ts';
import { readFileSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { startServer, type TestServer } from './support/server.ts';
import { startUpstream, type Upstream } from './support/odd-upstream.ts';
import { temporaryFolder } from './support/folders.ts';
import type { Logger } from '../src/core/logger.ts';

vi.setConfig({ testTimeout: 30_000, maxConcurrency: 24 });

const data = temporaryFolder();
const logged: string[] = [];
const note = (...said: readonly unknown[]) => void logged.push(JSON.stringify(said));
const logger: Logger = { info: note, warn: note, error: note };
let server: TestServer;
let upstream: Upstream;
const harnessOf = new Map<string, string>();

const canary = 'canary-of-the-machine';
/** Of outer harnesses, and of the machine. */
const outer = [
  ...['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'CODEX_SANDBOX', 'PI_CODING_AGENT_DIR'],
  ...['GEMINI_CLI', 'OPENCODE', 'AI_AGENT', 'AGENT', 'GIT_CONFIG_COUNT', 'NODE_OPTIONS', 'npm_config_registry'],
  ...['DATABASE_URL', 'AWS_SECRET_ACCESS_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY', 'AZURE_API_KEY', 'REINS_ANYTHING'],
];

beforeAll(async () => {
  upstream = await startUpstream();
  for (const name of outer) vi.stubEnv(name, name === 'NODE_OPTIONS' ? `--title=${canary}` : canary);
  const { harnesses } = placeStubs(join(data, 'stubs'), { firstSeconds: 4, modelSeconds: 4, toolSeconds: 4 });
  const env = {
    OPENAI_API_KEY: 'provider-key-of-the-test',
    OPENAI_BASE_URL: upstream.url,
    ANTHROPIC_API_KEY: 'provider-key-of-the-test',
    ANTHROPIC_BASE_URL: upstream.url,
  };
  server = await startServer({ data, env, settings: { harnesses }, logger });
  for (const base of [...stubBases, 'acp-never']) {
    const { status, body } = await server.uhp.send('POST', '/v1/harnesses', { body: { base, name: base } });
    if (status !== 200) throw new Error(`No harness ${base}: ${JSON.stringify(body)}`);
    harnessOf.set(base, body.id);
  }
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  vi.unstubAllEnvs();
});

type Base = StubBase | 'acp-never';
const ask = (base: Base, act: string) => ({
  input: `Now ${act}`,
  model: base === 'claude-code' ? 'anthropic/test-model' : 'openai/test-model',
  metadata: { harness_id: harnessOf.get(base) },
});
const run = async (base: Base, act: string, more: object = {}): Promise<Body> =>
  (await server.uhp.create({ ...ask(base, act), ...more })).body;
const goOn = (base: Base, { id }: Body, act: string) => run(base, act, { previous_response_id: id });
const left = ({ metadata }: Body) => processesOf(data, metadata.session_id);
const fileOf = ({ metadata }: Body, name: string) => join(data, 'workspaces', metadata.session_id, name);
const ending = ({ status, error }: Body) => [status, error?.code ?? null, error?.message ?? null];
const failure = (words: string) => ['failed', 'harness_error', expect.stringContaining(words)];
const fine = ['completed', null, null];

describe.skipIf(process.platform !== 'linux').each(stubBases)('H-942: %s', (base) => {
  test.concurrent.for([
    ['exits with code 0 and has said no end', 'exit0', 'exited with code 0'],
    ['is killed', 'killed', 'was ended by SIGKILL'],
    ['exits while a process that it left holds its output open', 'pipe', 'exited with code 0'],
    ['exits within the line of its end, which is damage (B138)', 'unended', 'exited with code 0'],
    ['closes its output and lives on', 'shut', 'closed its output'],
    ['writes a line of 20 MB', 'huge', 'wrote a line that is too long'],
  ] as const)('B134, H-103: one that %s has failed, keeps what it had said, and leaves nothing', async ([, act, how]) => {
    const response = await run(base, act);
    expect(ending(response)).toEqual(failure(how));
    expect(answerOf(response)).toBe('so far');
    expect(await left(response)).toEqual([]);
    expect(ending(await goOn(base, response, 'fine'))).toEqual(fine);
  });

  test.concurrent('B134: the result of one that sleeps on ends the task at once, and its process goes with the session', async () => {
    const startedMs = performance.now();
    const response = await run(base, 'sleeps');
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect([...ending(response), answerOf(response)]).toEqual([...fine, 'done']);
    expect(await left(response)).not.toEqual([]);
    await server.uhp.send('DELETE', `/v1/sessions/${response.metadata.session_id}`);
    await eventually(async () => (await goneOf(response)) || undefined, 10_000);
  });

  test.concurrent('B134: an exit code after the result takes nothing from it, nor from the next task', async () => {
    const response = await run(base, 'exit1');
    expect([...ending(response), answerOf(response)]).toEqual([...fine, 'done']);
    await eventually(async () => (await left(response)).length === 0 || undefined);
    expect(ending(await goOn(base, response, 'fine'))).toEqual(fine);
  });

  test.concurrent('B138: a million characters before an exit with code 1 are all there', async () => {
    const response = await run(base, 'million');
    expect([...ending(response), answerOf(response).length]).toEqual([...fine, 1_000_000]);
  });

  test.concurrent('H-120, H-122: a line in pieces of one byte is one line; what is no line of the protocol is none', async () => {
    const halves = await run(base, 'halves');
    expect([...ending(halves), answerOf(halves)]).toEqual([...fine, 'hálf 👩‍👩‍👧 line']);
    const garbage = await run(base, 'garbage');
    expect([...ending(garbage), answerOf(garbage)]).toEqual([...fine, 'fine']);
  });

  test.concurrent('B134, B147, H-110: one that hangs while its stream is alive is ended by its own limit; what it said on stderr is logged', async () => {
    const final = finalOf(await whole(server.uhp.stream(ask(base, 'mute'))));
    expect(ending(final)).toEqual(failure('no sign of life'));
    expect(await left(final)).toEqual([]);
    const log = logged.join('\n');
    expect(log).toContain('I hang');
    if (base === 'acp-stub') expect(log).toContain('my key is [redacted]');
  });

  test.concurrent('B135: one that falls silent, works on and exits is not taken to have completed; its files are kept', async () => {
    const response = await run(base, 'busy');
    expect(ending(response)).toEqual(failure('exited with code 0'));
    const files = await connect(server.url, key).sessions.files(response.metadata.session_id);
    expect([answerOf(response), files.map(({ filename }) => filename)]).toEqual(['so far', ['made.txt']]);
  });

  test.concurrent('B112: one that dies before it says anything: the session goes on from what was stored, or says that it begins anew', async () => {
    const dead = await run(base, 'dies');
    expect(ending(dead)).toEqual(failure('exited with code 1'));
    const next = await goOn(base, dead, 'fine');
    const isAnew = base === 'claude-code' || base === 'pi';
    expect([...ending(next), next.metadata['reins_degraded']]).toEqual([
      ...fine,
      isAnew ? ['session:rebuilt'] : undefined,
    ]);
  });

  test.concurrent('B143, H-132, H-961: started inside another harness, it sees the list of its adapter and no secret', async () => {
    const response = await run(base, 'env');
    const env: Record<string, string> = JSON.parse(answerOf(response));
    expect(Object.keys(env)).toEqual(expect.arrayContaining(['PATH', 'HOME', 'TMPDIR', 'TERM', 'REINS_TREE']));
    const values = Object.values(env).join('\n');
    for (const secret of [canary, 'provider-key-of-the-test', key]) expect(values).not.toContain(secret);
    expect(env['HOME']).toContain(response.metadata.session_id);
  });

  test.concurrent.for(['ignores', 'deaf', 'shut-deaf', 'mute', 'works'])(
    'B096, B097, B099, B100: cancelled, one that %s is gone within ten seconds, says nothing more, and all say cancelled',
    async (act) => {
      const { body: task } = await server.uhp.create({ ...ask(base, act), background: true });
      const times: number[] = [];
      const frames = Array.fromAsync((await server.uhp.attach(task.id)).frames, (frame) => {
        if (isDelta(frame)) times.push(performance.now());
        return frame;
      });
      if (act === 'works') await eventually(() => statSync(fileOf(task, 'ticks'), { throwIfNoEntry: false }));
      else if (act === 'mute') await eventually(async () => (await goneOf(task)) === false || undefined);
      else await eventually(() => times.length > 0 || undefined);
      const askedMs = performance.now();
      const answer = await server.uhp.cancel(task.id);
      expect([answer.status, performance.now() - askedMs < 1_000]).toEqual([200, true]);
      const final = finalOf(await frames);
      expect(performance.now() - askedMs).toBeLessThan(10_500);
      expect(await left(final)).toEqual([]);
      expect(times.filter((atMs) => atMs > askedMs + 500)).toEqual([]);
      const session = await server.uhp.send('GET', `/v1/sessions/${final.metadata.session_id}`);
      expect((await frames).at(-1)?.event.type).toBe('response.failed');
      expect([final.status, final.error, session.body.status]).toEqual(['cancelled', null, 'cancelled']);
      expect((await server.uhp.get(task.id)).body).toEqual(final);
      expect(final.metadata['reins_unstopped']).toBe(undefined);
      if (act === 'works') {
        const { size } = statSync(fileOf(task, 'ticks'));
        await pause(500);
        expect(statSync(fileOf(task, 'ticks')).size).toBe(size);
      }
      expect(ending(await goOn(base, final, 'fine'))).toEqual(fine);
    },
  );
});

/** Whether none of its processes is there; undefined: it has no home yet. */
async function goneOf(response: Body): Promise<boolean | undefined> {
  try {
    return (await left(response)).length === 0;
  } catch {
    return undefined;
  }
}
