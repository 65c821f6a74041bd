// `POST /api/agent` over a whole server: forms, refusals, failures. Which model a turn has: `agent-models.test.ts`; how turns end
// with their callers: `agent-turns.test.ts`; where they work: `agent-workspace.test.ts`.

import { needsOneServer } from './support/cluster-in-process.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asJson, askAgent, asStream, eventsOf, parseEvents, readUntil } from './support/agent-call.ts';
import { call, reply, say, text, type Replies } from './support/model.ts';
import { createFastClock } from './support/fast-clock.ts';
import { seededRandom } from './support/seeded-random.ts';
import { eventually } from './support/asking-server.ts';
import { startAgentServer, type AgentServer } from './support/agent-server.ts';
import type { ScriptedReply } from '../src/testing/model-servers/reply-script.ts';

const write = (id: string, path: string) => call(id, 'write_file', { path, content: 'made' });
const list = (id: string) => call(id, 'list_files', {});
const status = (code: number, type = 'api_error'): ScriptedReply => ({ fault: { kind: 'status', status: code, type } });

const failures: Readonly<Record<string, { readonly reply: ScriptedReply; readonly told: readonly [number, RegExp] }>> =
  {
    'no text': { reply: say(' '), told: [502, /^Empty model response\.$/] },
    cut: { reply: { ...say('part'), finish: 'length' }, told: [502, /^Output truncated\.$/] },
    declined: { reply: { ...say('no'), finish: 'content-filter' }, told: [502, /^The model declined\.$/] },
    'no credential': { reply: status(401), told: [502, /^The model provider refused its credential\.$/] },
    'too many': { reply: status(429), told: [429, /^The model provider is rate limiting\.$/] },
    'no model': { reply: status(404), told: [400, /^The model is not available: openai-compatible\/m$/] },
    'bad request': { reply: status(400), told: [502, /^The model provider refused the request/] },
    'server fault': { reply: status(500), told: [502, /^The model provider could not answer now/] },
    'error at once': { reply: { fault: { kind: 'error-event', after: 'nothing' } }, told: [502, /^The model/] },
    'error later': { reply: { ...say('a', 'b'), fault: { kind: 'error-event', after: 1 } }, told: [502, /^The model/] },
    'cut at once': { reply: { fault: { kind: 'cut', after: 'nothing' } }, told: [502, /^The model/] },
    'cut later': { reply: { ...say('a', 'b'), fault: { kind: 'cut', after: 1 } }, told: [502, /^The model/] },
    'no end': { reply: { ...say('a'), fault: { kind: 'no-end-mark' } }, told: [502, /^The model/] },
    silence: { reply: { ...say('a', 'b'), fault: { kind: 'stall', after: 1 } }, told: [504, /^The turn timed out\.$/] },
  };
const replies: Replies = {
  ...Object.fromEntries(Object.entries(failures).map(([asked, { reply: scripted }]) => [asked, [scripted]])),
  // Asked to go on, a cut reply is cut again.
  'Your reply was cut off at its length limit. Go on exactly where it stopped, without repeating anything.': [
    { ...say('more'), finish: 'length' },
  ],
  'Your last reply was empty. Answer now, or call a tool.': [say('')],
  tools: [reply(text('I '), write('w', 'a.txt')), reply(text('look.'), list('l')), say(' There.')],
};

describe('forms', () => {
  let place: AgentServer;
  beforeAll(async () => {
    place = await startAgentServer({ replies });
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test('A-002, A-003: a stream is its blocks, byte for byte', async () => {
    const response = await asStream(place.url, { prompt: 'tools' });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      vary: 'Accept',
    });
    expect(response.headers.get('content-encoding')).toBeNull();
    const blocks = (await response.text()).split('\n\n');
    const wrote = { name: 'write_file', ok: true, summary: 'write_file · ✓ ok · a.txt · 4 B written' };
    const listed = { name: 'list_files', ok: true, summary: 'list_files · ✓ ok · .: 1 entries — a.txt' };
    expect(blocks).toEqual([
      'data: {"type":"text_delta","text":"I "}',
      'data: {"type":"tool_start","name":"write_file","id":"w"}',
      `data: ${JSON.stringify({ type: 'tool_result', ...wrote, id: 'w' })}`,
      'data: {"type":"text_delta","text":"look."}',
      'data: {"type":"tool_start","name":"list_files","id":"l"}',
      `data: ${JSON.stringify({ type: 'tool_result', ...listed, id: 'l' })}`,
      'data: {"type":"text_delta","text":" There."}',
      `data: ${JSON.stringify({ type: 'done', text: 'I look. There.', toolTrace: [wrote, listed], cwd: '.' })}`,
      '',
    ]);
  });

  test('A-005: the JSON answer has its three keys and no other', async () => {
    const { body } = await asJson(place.url, { prompt: 'tools' });
    expect(Object.keys(body)).toEqual(['text', 'toolTrace', 'cwd']);
    expect(await asJson(place.url, { prompt: 'hi' })).toEqual({ status: 200, body: { text: 'You said: hi' } });
  });

  test('A-002: the headers are there before the model has said a word', async () => {
    const response = await asStream(place.url, { prompt: 'held before' });
    expect(response.status).toBe(200);
    expect(await readUntil(response, 'first')).toBe('data: {"type":"text_delta","text":"first "}\n\n');
    place.gate.open();
  });

  test('A-023: a stream and a JSON answer of the same script say the same', async () => {
    const { below } = seededRandom(7);
    const calls = () =>
      Array.from({ length: 1 + below(3) }, (_, n) =>
        below(2) === 0 ? list(`c${n}`) : call(`c${n}`, 'read_file', { path: `no-${n}` }),
      );
    const runs = Array.from({ length: 50 }, async (_none, run) => {
      const asked = `script ${run}`;
      const rounds = Array.from({ length: below(3) }, (_, round) => reply(text(`${round}`, ' '), ...calls()));
      Object.assign(replies, { [asked]: [...rounds, below(5) === 0 ? say('') : say('the ', 'end')] });
      const json = await asJson(place.url, { prompt: asked });
      const last = (await eventsOf(asStream(place.url, { prompt: asked }))).at(-1);
      const { type: _type, status: code = 200, ...body } = { type: 'none', status: undefined, ...last };
      const told = { status: code, body };
      expect(json).toEqual(told);
    });
    await Promise.all(runs);
  });
});

describe('A-006, A-010: what is refused is refused as JSON, in its order', () => {
  let place: AgentServer;
  beforeAll(async () => {
    place = await startAgentServer({ replies, settings: { limits: { maxBodyBytes: 2_000 } } });
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test.each(['application/json', 'text/event-stream'])('whatever %s was asked for', async (accept) => {
    const { url } = place;
    const at = async (method: string, { headers = {}, path = '/api/agent' } = {}) => {
      const response = await fetch(`${url}${path}`, { method, headers: { accept, ...headers } });
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      return [response.status, await response.json()];
    };
    const refusedAs = async (body: unknown, options = {}) => {
      const response = await askAgent(url, body, { accept, ...options });
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      return [response.status, await response.json()];
    };
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH'])
      expect(await at(method)).toEqual([405, { error: 'Use POST.' }]);
    expect(await at('POST', { headers: { 'content-type': 'text/plain' } })).toEqual([
      401,
      { error: 'Not authenticated.' },
    ]);
    expect(await refusedAs('x', { token: 'wrong' })).toEqual([401, { error: 'Not authenticated.' }]);
    const long = 'x'.repeat(3_000);
    expect(await refusedAs(long, { headers: { 'content-type': 'text/plain' } })).toEqual([
      415,
      { error: 'Send application/json.' },
    ]);
    expect(await refusedAs(long, { headers: { 'content-type': 'nonsense' } })).toEqual([
      415,
      { error: 'Send application/json.' },
    ]);
    expect(await refusedAs(long)).toEqual([413, { error: 'The body is too large.' }]);
    expect(await refusedAs('{')).toEqual([400, { error: 'The body must be JSON: { "prompt": string }.' }]);
    expect(await refusedAs([])).toEqual([400, { error: 'The body must be a JSON object with a "prompt".' }]);
    expect(await refusedAs({ prompt: 7, cwd: 7 })).toEqual([400, { error: '"prompt" must be a string.' }]);
    expect(await refusedAs({ prompt: 'x', cwd: 7, modelId: 7 })).toEqual([400, { error: '"cwd" must be a string.' }]);
    expect(await refusedAs({ prompt: 'x', cwd: '/etc', modelId: 'no' })).toEqual([
      400,
      { error: 'Invalid cwd: absolute paths are not allowed' },
    ]);
    expect(await refusedAs({ prompt: 'x', modelId: 'no' })).toEqual([400, { error: 'Unknown model: no' }]);
    expect(await refusedAs({ prompt: 'x', modelId: 'claude-opus-4.6' })).toEqual([
      503,
      { error: 'No model is available.' },
    ]);
    expect(
      await at('POST', { headers: { authorization: 'Bearer test-key-of-the-owner' }, path: '/api/agent/x' }),
    ).toEqual([404, { error: expect.any(String) }]);
    expect(place.model.server.requests).toEqual([]);
  });

  test('A-010: a body that is announced as nothing is taken for JSON, and a version of the protocol is not asked for', async () => {
    const headers = { authorization: 'Bearer test-key-of-the-owner', 'uhp-version': 'none' };
    const body = new Blob([JSON.stringify({ prompt: 'hi' })]);
    const response = await fetch(`${place.url}/api/agent`, { method: 'POST', headers, body });
    expect([response.status, await response.json()]).toEqual([200, { text: 'You said: hi' }]);
  });
});

describe('A-010: what there is no room or no means for', () => {
  test('row 16: too many runs, with the time to come again', async () => {
    needsOneServer('each server has places of its own');
    await using place = await startAgentServer({ settings: { limits: { concurrentTasks: 1, queuedTasks: 0 } } });
    const caller = new AbortController();
    const first = await asStream(place.url, { prompt: 'held' }, { signal: caller.signal });
    await readUntil(first, 'first');
    const second = await asStream(place.url, { prompt: 'hi' });
    expect([second.status, await second.json()]).toEqual([429, { error: 'Too many runs.' }]);
    expect(second.headers.get('retry-after')).toBe('5');
    caller.abort();
  });

  test('row 15, A-012, A-013: without a folder the other tools are left; without those the turn is refused, with 403 and never as a plain chat', async () => {
    await using place = await startAgentServer({ settings: { agent: { workspaceOff: ['owner'] } } });
    expect(await asJson(place.url, { prompt: 'hi', cwd: 'src' })).toEqual({
      status: 200,
      body: { text: 'You said: hi' },
    });
    const [request] = place.model.asked('hi');
    const tools = (request?.body['tools'] ?? []) as unknown as readonly { function: { name: string } }[];
    const names = tools.map((tool) => tool.function.name);
    expect(names).toContain('fetch_url');
    expect(names).not.toContain('bash');
    expect(names).not.toContain('read_file');
    const { body } = await place.uhp.send('GET', '/v1/harnesses');
    const [harness] = body['harnesses'] as readonly { id: string; base: string }[];
    await place.uhp.send('PUT', `/v1/harnesses/${harness?.id}`, { body: { disabledTools: ['fetch_url'] } });
    const refused = await asStream(place.url, { prompt: 'hi' });
    expect([refused.status, await refused.json()]).toEqual([403, { error: 'No usable sandbox and no other tools.' }]);
  });

  test('A-010: a model that no credential is set for is no default', async () => {
    await using place = await startAgentServer({ settings: { models: { default: 'claude-opus-4.6' } } });
    expect(await asJson(place.url, { prompt: 'hi' })).toEqual({
      status: 503,
      body: { error: 'No model is available.' },
    });
  });
});

describe('A-021, A-026, A-033: whatever fails is told once, at the end, and alike in both forms', () => {
  test.each(Object.keys(failures))('%s', async (asked) => {
    // Each has its own: what a provider did is remembered.
    const clock = createFastClock(asked === 'silence' ? 600 : 50);
    await using place = await startAgentServer({ replies, clock });
    const [code, words] = failures[asked]?.told ?? [0, /never/];
    const json = await asJson(place.url, { prompt: asked });
    const events = await eventsOf(asStream(place.url, { prompt: asked }));
    expect(json).toEqual({ status: code, body: { error: expect.stringMatching(words) } });
    expect(events.filter(({ type }) => type === 'done' || type === 'error')).toEqual(events.slice(-1));
    expect(events.at(-1)).toEqual({ type: 'error', error: json.body['error'], status: code });
  });

  test('A-004: while nothing is said, a comment is', async () => {
    await using place = await startAgentServer({ clock: createFastClock(200) });
    const caller = new AbortController();
    const response = await asStream(place.url, { prompt: 'held for long' }, { signal: caller.signal });
    const bytes = await readUntil(response, ': ping\n\n: ping\n\n');
    expect(parseEvents(bytes).every(({ type }) => type === 'text_delta')).toBe(true);
    caller.abort();
    await eventually(() => place.model.server.open === 0 || undefined);
  });
});
