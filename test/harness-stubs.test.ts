// Runtimes that do what none should, as programs behind the real adapters (H-942). Each act is in `support/stub-programs.ts`.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { answerOf } from './support/event-stream.ts';
import { connect } from '../src/client/index.ts';
import { endingOf, fine, providerKey, startStubServer, type StubServer } from './support/stub-server.ts';
import { eventually } from './support/asking-server.ts';
import { existsSync } from 'node:fs';
import { finalOf, key, whole } from './support/uhp.ts';
import { stubBases } from './support/stub-programs.ts';

vi.setConfig({ testTimeout: 30_000, maxConcurrency: 24 });

const canary = 'canary-of-the-machine';
/** Of outer harnesses, and of the machine. */
const outer = (
  'CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CONFIG_DIR CODEX_HOME CODEX_SANDBOX PI_CODING_AGENT_DIR GEMINI_CLI OPENCODE ' +
  'AI_AGENT AGENT GIT_CONFIG_COUNT NODE_OPTIONS npm_config_registry DATABASE_URL AWS_SECRET_ACCESS_KEY GEMINI_API_KEY OPENROUTER_API_KEY AZURE_API_KEY REINS_ANYTHING'
).split(' ');

let server: StubServer;
beforeAll(async () => {
  for (const name of outer) vi.stubEnv(name, name === 'NODE_OPTIONS' ? `--title=${canary}` : canary);
  server = await startStubServer({ silence: { firstSeconds: 15, modelSeconds: 3, toolSeconds: 3 } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  vi.unstubAllEnvs();
});

const failure = (words: string) => ['failed', 'harness_error', expect.stringContaining(words)];
const labels = { 'claude-code': 'Claude Code', codex: 'Codex', pi: 'Pi', 'acp-stub': 'stub' } as const;

describe.skipIf(process.platform !== 'linux').concurrent.each(stubBases)('H-942: %s', (base) => {
  test.concurrent.for([
    ['exits with code 0 and has said no end', 'exit0', 'exited with code 0'],
    ['is killed', 'killed', 'was ended by SIGKILL'],
    ['exits while a process that it left holds its output open', 'pipe', 'exited with code 0'],
    ['exits within the line of its end, which is damage (B138)', 'unended', 'exited with code 0'],
    ['closes its output and lives on', 'shut', 'closed its output'],
    ['writes a line of 20 MB', 'huge', 'wrote a line that is too long'],
  ] as const)(
    'B134, H-103: one that %s has failed, keeps what it had said, and leaves nothing',
    async ([, act, how]) => {
      const response = await server.run(base, act);
      expect(endingOf(response)).toEqual(failure(how));
      expect(answerOf(response)).toBe('so far');
      await eventually(async () => (await server.left(response)).length === 0 || undefined, 8_000);
      expect(endingOf(await server.goOn(base, response, 'fine'))).toEqual(fine);
    },
  );

  test.concurrent('B134: the result of one that sleeps on ends the task at once, and its process goes with the session', async () => {
    const response = await server.run(base, 'sleeps');
    expect([...endingOf(response), answerOf(response)]).toEqual([...fine, 'done']);
    const [process] = await server.left(response);
    await server.uhp.send('DELETE', `/v1/sessions/${response.metadata.session_id}`);
    await eventually(() => !existsSync(`/proc/${process?.pid ?? 'none'}`) || undefined);
  });

  test.concurrent('B134: an exit code after the result takes nothing from it, nor from the next task', async () => {
    const response = await server.run(base, 'exit1');
    expect([...endingOf(response), answerOf(response)]).toEqual([...fine, 'done']);
    await eventually(async () => (await server.left(response)).length === 0 || undefined);
    expect(endingOf(await server.goOn(base, response, 'fine'))).toEqual(fine);
  });

  test.concurrent('B138: a million characters before an exit with code 1 are all there', async () => {
    const response = await server.run(base, 'million');
    expect([...endingOf(response), answerOf(response).length]).toEqual([...fine, 1_000_000]);
  });

  test.concurrent('H-120, H-122: a line in pieces of one byte is one line; what is no line of the protocol is none', async () => {
    const halves = await server.run(base, 'halves');
    expect([...endingOf(halves), answerOf(halves)]).toEqual([...fine, 'hálf 👩‍👩‍👧 line']);
    const garbage = await server.run(base, 'garbage');
    expect([...endingOf(garbage), answerOf(garbage)]).toEqual([...fine, 'fine']);
  });

  test.concurrent('B134, B147, H-110: one that hangs while its stream is alive is ended by its own limit; what it said on stderr is logged', async () => {
    const final = finalOf(await whole(server.uhp.stream(server.ask(base, 'mute'))));
    expect(endingOf(final)).toEqual(failure('no sign of life'));
    expect(await server.left(final)).toEqual([]);
    const inLog = (words: string) =>
      server.logged.some((entry) => entry.includes('silent') && entry.includes(labels[base]) && entry.includes(words));
    await eventually(() => inLog(base === 'acp-stub' ? 'I hang, and my key is [redacted]' : 'I hang') || undefined);
  });

  test.concurrent('B135: one that falls silent, works on and exits is not taken to have completed; its files are kept', async () => {
    const response = await server.run(base, 'busy');
    expect(endingOf(response)).toEqual(failure('exited with code 0'));
    const files = await connect(server.url, key).sessions.files(response.metadata.session_id);
    expect([answerOf(response), files.map(({ filename }) => filename)]).toEqual(['so far', ['made.txt']]);
  });

  test.concurrent('B112: one that dies before it says anything: the session goes on from what was stored, or says that it begins anew', async () => {
    const dead = await server.run(base, 'dies');
    expect(endingOf(dead)).toEqual(failure('exited with code 1'));
    const next = await server.goOn(base, dead, 'fine');
    const isAnew = base === 'claude-code' || base === 'pi';
    expect([...endingOf(next), next.metadata['reins_degraded']]).toEqual([
      ...fine,
      isAnew ? ['session:rebuilt'] : undefined,
    ]);
  });

  test.concurrent('B143, H-132, H-961: started inside another harness, it sees the list of its adapter and no secret', async () => {
    const response = await server.run(base, 'env');
    const env: Record<string, string> = JSON.parse(answerOf(response));
    expect(Object.keys(env)).toEqual(expect.arrayContaining(['PATH', 'HOME', 'TMPDIR', 'TERM', 'REINS_TREE']));
    const values = Object.values(env).join('\n');
    for (const secret of [canary, providerKey, key]) expect(values).not.toContain(secret);
    expect(env['HOME']).toContain(response.metadata.session_id);
  });
});
