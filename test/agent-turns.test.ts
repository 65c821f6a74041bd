// `POST /api/agent`: how turns end with those who wait for them, and where they work.

import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { asJson, askAgent, asStream, eventsOf, parseEvents, readUntil } from './support/agent-call.ts';
import { call, createGate, hold, reply, say, startModel, text, type Replies } from './support/model.ts';
import { eventually } from './support/asking-server.ts';
import { providerKey } from './support/provider.ts';
import { startAgentServer, type AgentServer } from './support/agent-server.ts';
import { startProcess } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { key, type Uhp } from './support/uhp.ts';

const bash = (command: string) => reply(text('Working.'), call('b', 'bash', { command }));
const write = (path: string, content = 'made') => reply(call('w', 'write_file', { path, content }));
const host = { agent: { shell: { kind: 'host' } } };

/** The only folder of a principal. */
function folderOf({ data }: Pick<AgentServer, 'data'>): string {
  const [name = ''] = readdirSync(join(data, 'principals'));
  return join(data, 'principals', name);
}

async function newestSession(uhp: Uhp): Promise<{ readonly id: string; readonly status: string }> {
  const { body } = await uhp.send('GET', '/v1/sessions?limit=1');
  const [session] = body['sessions'] as { id: string; status: string }[];
  return session ?? { id: '', status: '' };
}

const newestIs = (uhp: Uhp, status: string) =>
  eventually(async () => (await newestSession(uhp)).status === status || undefined);

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('A-030: who goes away ends the turn', () => {
  const working: Replies = { work: [bash('echo $$ > pid; exec sleep 1000'), say('Done.')] };

  test.each(['text/event-stream', 'application/json'])('while the model speaks, with %s', async (accept) => {
    await using place = await startAgentServer();
    const caller = new AbortController();
    const asked = askAgent(place.url, { prompt: 'held' }, { accept, signal: caller.signal });
    asked.catch(() => {});
    await eventually(() => place.model.server.open === 1 || undefined);
    caller.abort();
    await eventually(() => place.model.server.open === 0 || undefined, 1_000);
    await newestIs(place.uhp, 'cancelled');
  });

  test.each(['text/event-stream', 'application/json'])(
    'while a tool runs, with %s: its processes go',
    async (accept) => {
      await using place = await startAgentServer({ replies: working, settings: host });
      const caller = new AbortController();
      askAgent(place.url, { prompt: 'work' }, { accept, signal: caller.signal }).catch(() => {});
      const pid = await eventually(() => {
        const path = existsSync(join(place.data, 'principals')) ? join(folderOf(place), 'pid') : '';
        return existsSync(path) ? Number(readFileSync(path, 'utf8')) || undefined : undefined;
      });
      expect(isAlive(pid)).toBe(true);
      caller.abort();
      await eventually(() => !isAlive(pid) || undefined, 10_000);
      expect(place.model.asked('work')).toHaveLength(1);
    },
  );

  test('before anything is streamed', async () => {
    await using place = await startAgentServer();
    const caller = new AbortController();
    const asked = asStream(place.url, { prompt: 'held' }, { signal: caller.signal });
    caller.abort();
    await expect(asked).rejects.toThrow(/abort/);
    await pause(100);
    await eventually(() => place.model.server.open === 0 || undefined, 1_000);
  });

  test('A-032: after the last event there is nothing to end', async () => {
    await using place = await startAgentServer();
    const caller = new AbortController();
    const response = await asStream(place.url, { prompt: 'hi' }, { signal: caller.signal });
    await readUntil(response, '"type":"done"');
    caller.abort();
    await pause(100);
    await newestIs(place.uhp, 'completed');
  });

  test('A-031: a server that closes ends the turns of its callers, and tells them', async () => {
    const place = await startAgentServer();
    const [stream, json] = [await asStream(place.url, { prompt: 'held' }), asJson(place.url, { prompt: 'held too' })];
    await eventually(() => place.model.server.open === 2 || undefined);
    const closed = place.close();
    const told = { error: 'Request cancelled.', status: 499 };
    expect(parseEvents(await stream.text()).at(-1)).toEqual({ type: 'error', ...told });
    expect(await json).toEqual({ status: 499, body: { error: told.error } });
    await closed;
    await place[Symbol.asyncDispose]();
  });

  test('A-031: a turn that another call cancels tells its own caller', async () => {
    await using place = await startAgentServer();
    const response = await asStream(place.url, { prompt: 'held' });
    await readUntil(response, 'first');
    const { id } = await newestSession(place.uhp);
    const [cancelled] = await Promise.all([
      place.uhp.send('POST', `/v1/sessions/${id}/cancel`),
      readUntil(response, '{"type":"error","error":"Request cancelled.","status":499}').catch(() => ''),
    ]);
    expect(cancelled.status).toBe(200);
  });

  test('a turn that a crash of the server cut off is ended at the next start, not gone on with', async () => {
    const [data, gate] = [temporaryFolder(), createGate()];
    await using model = await startModel(() => [reply(text('first '), hold, text('second'))], gate);
    const env = { ...model.env, REINS_CONFIG: '' };
    const first = await startProcess(data, env);
    const asked = asStream(first.uhp.url, { prompt: 'x', modelId: 'openai-compatible/m' });
    await readUntil(await asked, 'first');
    await first.kill();
    const second = await startProcess(data, env);
    await newestIs(second.uhp, 'cancelled');
    expect(model.server.requests).toHaveLength(1);
    await second.kill();
  }, 20_000);
});

describe('A-014: where a turn works', () => {
  const replies: Replies = {
    make: [write('a.txt'), say('Made.')],
    read: [reply(call('r', 'read_file', { path: 'a.txt' })), say('Read.')],
    around: [
      reply(
        call('g', 'glob', { pattern: '**/*.txt' }),
        call('u', 'read_file', { path: '../../a.txt' }),
        call('o', 'read_file', { path: '../../../a.txt' }),
        call('s', 'bash', { command: 'basename "$PWD"; ls' }),
      ),
      say('Seen.'),
    ],
  };

  test('in a folder that lasts over turns, and is of one principal alone', async () => {
    const workspace = temporaryFolder();
    await using place = await startAgentServer({ replies, settings: { agent: { workspace } } });
    const made = await place.uhp.send('POST', '/v1/reins/keys', { body: { principal: 'bob' } });
    const bob = { token: String(made.body['key']) };
    expect((await asJson(place.url, { prompt: 'make' })).body).toMatchObject({ cwd: '.' });
    const ok = async (options = {}) => (await asJson(place.url, { prompt: 'read' }, options)).body['toolTrace'];
    expect(await ok()).toMatchObject([{ ok: true }]);
    expect(await ok(bob)).toMatchObject([{ ok: false }]);
    expect(readdirSync(workspace).map((name) => name.replace(/-.*/, ''))).toEqual(['bob', 'owner']);
  });

  const shells = ['auto', 'interpreted', 'host'];
  test.each(shells)(
    'in a directory of it, from which all of it is reached and nothing beside it (%s)',
    async (kind) => {
      await using place = await startAgentServer({ replies, settings: { agent: { shell: { kind } } } });
      await asJson(place.url, { prompt: 'make' });
      expect((await asJson(place.url, { prompt: 'make', cwd: './src//lib/' })).body).toMatchObject({ cwd: 'src/lib' });
      expect(readFileSync(join(folderOf(place), 'src', 'lib', 'a.txt'), 'utf8')).toBe('made');
      const events = await eventsOf(asStream(place.url, { prompt: 'around', cwd: 'src/lib' }));
      const results = Object.fromEntries(
        events.flatMap((event) => (event.type === 'tool_result' ? [[event.id, [event.ok, event.summary]]] : [])),
      );
      expect(results).toEqual({
        g: [true, 'glob · ✓ ok · a.txt'],
        u: [true, expect.stringContaining('../../a.txt')],
        o: [false, expect.stringContaining('leads out of the workspace')],
        s: [true, expect.stringContaining('stdout 2L')],
      });
      expect(events.at(-1)).toMatchObject({ type: 'done', cwd: 'src/lib' });
    },
  );

  test('a link is no directory of it, whoever made it', async () => {
    await using place = await startAgentServer({ replies });
    await asJson(place.url, { prompt: 'make' });
    symlinkSync('/etc', join(folderOf(place), 'out'));
    const refused = await asStream(place.url, { prompt: 'read', cwd: 'out' });
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { error: 'Invalid cwd: the path leaves the workspace' },
    ]);
    expect((await asJson(place.url, { prompt: 'read', cwd: 'a.txt' })).status).toBe(400);
  });

  test('a directory that becomes a link while a turn works there leads its tools nowhere', async () => {
    const swapped = {
      swap: [
        bash('mkdir ../d && rmdir ../sub; ln -s /etc ../sub'),
        reply(call('r', 'read_file', { path: 'hostname' })),
        say('x'),
      ],
    };
    await using place = await startAgentServer({ replies: swapped, settings: host });
    const { body } = await asJson(place.url, { prompt: 'swap', cwd: 'sub' });
    expect(existsSync(join(folderOf(place), 'sub', 'hostname'))).toBe(true);
    expect(body['toolTrace']).toMatchObject([{}, { ok: false, summary: expect.stringContaining('leads out') }]);
  });

  test('the default directory holds where none is given; one that cannot be is ignored with a warning', async () => {
    const warnings: unknown[] = [];
    const logger = {
      debug() {},
      info() {},
      warn: (...said: unknown[]) => void warnings.push(said),
      error() {},
    };
    const cwdWith = async (SANDBOX_DEFAULT_CWD: string, body: object) => {
      await using place = await startAgentServer({
        replies,
        env: { SANDBOX_DEFAULT_CWD, AGENT_REASONING: 'much', OPENAI_COMPATIBLE_API_KEY: 'q7q' },
        logger,
      });
      return (await asJson(place.url, { prompt: 'make', ...body })).body['cwd'];
    };
    expect(await cwdWith('./work', {})).toBe('work');
    expect(await cwdWith('work', { cwd: null })).toBe('work');
    expect(await cwdWith('work', { cwd: 'other' })).toBe('other');
    expect(JSON.stringify(warnings)).not.toContain('defaultCwd');
    expect(await cwdWith('../work', {})).toBe('.');
    expect(JSON.stringify(warnings)).toContain('agent.defaultCwd');
    expect(JSON.stringify(warnings)).toContain('agent.reasoning');
    // named, not shown.
    expect(JSON.stringify(warnings)).toContain('OPENAI_COMPATIBLE_API_KEY');
    expect(JSON.stringify(warnings)).not.toContain('q7q');
  });
});

test('A-025: what would have to be asked is refused, the model is told, and the turn goes on', async () => {
  const replies = { ask: [bash('touch made'), say('It was not allowed.')] };
  const approvals = { toolPermissions: { bash: 'ask' } };
  await using place = await startAgentServer({ replies, settings: { approvals } });
  const { status, body } = await asJson(place.url, { prompt: 'ask' });
  expect(status).toBe(200);
  expect(body).toEqual({
    text: 'Working.It was not allowed.',
    toolTrace: [{ name: 'bash', ok: false, summary: expect.stringContaining('Not run.') }],
  });
  expect((await place.uhp.send('GET', '/v1/reins/approvals?status=all')).body['approvals']).toEqual([]);
});

test('A-052: the end of a preview is the end of the output, however long that is', async () => {
  const replies = { long: [bash('seq 1 20000'), say('Done.')] };
  await using place = await startAgentServer({ replies, settings: host });
  const events = await eventsOf(asStream(place.url, { prompt: 'long' }));
  const result = events.find((event) => event.type === 'tool_result');
  expect(result).toMatchObject({
    summary: 'bash · ✓ ok · seq 1 20000 · exit=0 · stdout 20000L',
    preview: expect.stringMatching(/^1\n2\n[^]*\n40\n… \(19950 more lines\)\n19991\n[^]*\n20000$/),
  });
  expect(events.at(-1)).not.toHaveProperty('toolTrace.0.preview');
});

test('A-040 to A-043: no secret is in any byte that is sent, wherever it is cut', async () => {
  const secrets = [providerKey, key, 'header-of-a-server'];
  const replies = Object.fromEntries(
    secrets.flatMap((secret, index) =>
      [1, 5, secret.length - 1].map((at) => {
        const pieces = [`It is ${secret.slice(0, at)}`, `${secret.slice(at)}.`];
        const rounds = [
          reply(
            { kind: 'text', chunks: pieces },
            call('w', 'write_file', { path: `${secret}.txt`, content: secret }),
            call('r', 'read_file', { path: secret }),
          ),
          reply({ kind: 'text', chunks: pieces }),
        ];
        return [`tell ${index} ${at}`, rounds];
      }),
    ),
  );
  const mcp = [
    { name: 's', transport: 'http', url: 'http://127.0.0.1:9/', headers: { 'X-Key': secrets[2] }, disabled: true },
  ];
  const env = { OPENAI_COMPATIBLE_API_KEY: providerKey };
  await using place = await startAgentServer({ replies, env, settings: { agent: { mcp } } });
  for (const prompt of Object.keys(replies)) {
    const [stream, json] = [
      await (await asStream(place.url, { prompt })).text(),
      JSON.stringify(await asJson(place.url, { prompt })),
    ];
    for (const bytes of [stream, json]) {
      for (const secret of secrets) expect(bytes).not.toContain(secret);
      expect(bytes).toContain('[redacted]');
    }
    expect(parseEvents(stream).at(-1)).toMatchObject({ type: 'done', text: 'It is [redacted].It is [redacted].' });
  }
});

test('A-060: the effort is sent to the model, by the setting or by its name, and alike in both forms', async () => {
  const effortOf = async (env: Record<string, string>, modelId: string) => {
    await using place = await startAgentServer({ env });
    await asJson(place.url, { prompt: 'a', modelId });
    await eventsOf(asStream(place.url, { prompt: 'a', modelId }));
    const [json, stream] = place.model.server.requests.map(({ body }) => body['reasoning_effort']);
    expect(stream).toBe(json);
    return json;
  };
  expect(await effortOf({ AGENT_REASONING: ' Low ' }, 'openai-compatible/m')).toBe('low');
  expect(await effortOf({}, 'openai-compatible/m-reasoning')).toBeUndefined();
  expect(await effortOf({ AGENT_REASONING: 'high' }, 'openai-compatible/m-non-reasoning')).toBe('high');
});
