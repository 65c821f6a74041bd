// `POST /api/agent`: how turns end with those who wait for them, and what is told of them.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { asJson, askAgent, asStream, eventsOf, parseEvents, readUntil } from './support/agent-call.ts';
import { call, createGate, hold, reply, say, startModel, text, type Replies } from './support/model.ts';
import { eventually } from './support/asking-server.ts';
import { providerKey } from './support/provider.ts';
import { principalFolder, startAgentServer } from './support/agent-server.ts';
import { startProcess } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { key, type Uhp } from './support/uhp.ts';

const bash = (command: string) => reply(text('Working.'), call('b', 'bash', { command }));
const host = { agent: { shell: { kind: 'host' } } };

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
        const path = existsSync(join(place.data, 'principals')) ? join(principalFolder(place), 'pid') : '';
        return existsSync(path) ? Number(readFileSync(path, 'utf8')) || undefined : undefined;
      });
      expect(isAlive(pid)).toBe(true);
      caller.abort();
      await eventually(() => !isAlive(pid) || undefined, 10_000);
      expect(place.model.asked('work')).toHaveLength(1);
    },
  );

  test('while a failed reply waits for its next try: it is not asked for again', async () => {
    await using place = await startAgentServer({ replies: { fail: [{ fault: { kind: 'status', status: 500 } }] } });
    const caller = new AbortController();
    const response = await asStream(place.url, { prompt: 'fail' }, { signal: caller.signal });
    await eventually(() => place.model.asked('fail').length === 1 || undefined);
    caller.abort();
    await newestIs(place.uhp, 'cancelled');
    const asked = place.model.asked('fail').length;
    await pause(1_500);
    expect(place.model.asked('fail')).toHaveLength(asked);
    expect(response.status).toBe(200);
  });

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

test('A-040 to A-043, A-070: no secret is in any byte that is sent, at whatever position each is cut', async () => {
  const secrets = [providerKey, key, 'header-of-a-server'];
  const cuts = (secret: string) =>
    Array.from({ length: secret.length - 1 }, (_, at) => [
      `It is ${secret.slice(0, at + 1)}`,
      `${secret.slice(at + 1)}. `,
    ]);
  const turns = secrets.map((secret, index): [string, Replies[string]] => [
    `tell ${index}`,
    [
      reply(
        { kind: 'text', chunks: cuts(secret).flat() },
        call('w', 'write_file', { path: `${secret}.txt`, content: secret }),
        call('r', 'read_file', { path: `${secret}.txt` }),
        call('n', `tool-${secret}`, {}),
      ),
      reply({ kind: 'text', chunks: cuts(secret).flat() }),
    ],
  ]);
  const message = `The key ${secrets.join(' ')} is wrong.`;
  const fails: [string, Replies[string]] = ['fail', [{ fault: { kind: 'status', status: 400, message } }]];
  const mcp = [
    { name: 's', transport: 'http', url: 'http://127.0.0.1:9/', headers: { 'X-Key': secrets[2] }, disabled: true },
  ];
  const env = { OPENAI_COMPATIBLE_API_KEY: providerKey };
  const replies = Object.fromEntries([...turns, fails]);
  await using place = await startAgentServer({ replies, env, settings: { agent: { mcp } } });
  const bytesOf = async (prompt: string) => [
    await (await asStream(place.url, { prompt })).text(),
    JSON.stringify(await asJson(place.url, { prompt })),
  ];
  for (const [index, secret] of secrets.entries()) {
    const [stream = '', json = ''] = await bytesOf(`tell ${index}`);
    for (const bytes of [stream, json]) for (const each of secrets) expect(bytes).not.toContain(each);
    const whole = 'It is [redacted]. '.repeat(2 * (secret.length - 1)).trim();
    expect(parseEvents(stream).at(-1)).toMatchObject({ type: 'done', text: whole });
    expect(
      parseEvents(stream)
        .flatMap((event) => (event.type === 'text_delta' ? [event.text] : []))
        .join(''),
    ).toBe(`${whole} `);
    expect(json).toContain(JSON.stringify(whole));
  }
  for (const bytes of await bytesOf('fail')) for (const each of secrets) expect(bytes).not.toContain(each);
});

test('A-024, A-070: two hundred and five calls are two hundred and five lines, each with its own cards', async () => {
  const read = (n: number) => call(`c${n}`, 'read_file', { path: `none-${n}` });
  const rounds = Array.from({ length: 41 }, (_, round) => reply(...[0, 1, 2, 3, 4].map((n) => read(5 * round + n))));
  await using place = await startAgentServer({ replies: { much: [...rounds, say('Done.')] } });
  const events = await eventsOf(asStream(place.url, { prompt: 'much' }));
  const last = events.at(-1);
  if (last?.type !== 'done') throw new Error('The turn has not succeeded.');
  const ids = Array.from({ length: 205 }, (_, n) => `c${n}`);
  for (const type of ['tool_start', 'tool_result'])
    expect(events.flatMap((event) => (event.type === type && 'id' in event ? [event.id] : [])).toSorted()).toEqual(
      ids.toSorted(),
    );
  expect(last.toolTrace?.map(({ summary }) => /none-\d+/.exec(summary)?.[0])).toEqual(
    ids.map((id) => id.replace('c', 'none-')),
  );
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
