// Harnesses made, changed and removed over real HTTP, on a real database.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addHarness, startServer, type TestServer } from './support/server.ts';
import { connectTo, key } from './support/uhp.ts';
import { createKey } from '../src/auth/keys.ts';
import { manage, type Managed } from './support/managed.ts';
import { openStoreOf } from './support/rows.ts';
import { runIds } from '../src/core/ids.ts';
import { startedFolder } from './support/folders.ts';

const log: string[] = [];
const note = (...said: readonly unknown[]) => void log.push(JSON.stringify(said));
let data: string;
let server: TestServer;
let harnesses: Managed;
let others: Managed;
let reader: string;
beforeAll(async () => {
  data = await startedFolder();
  const { token } = await addHarness(data, 'other');
  await using store = await openStoreOf(data);
  const limited = createKey({ principal: 'owner', scopes: ['read', 'tasks'], atMs: 1 });
  await store.putKey(limited.record);
  reader = limited.key;
  server = await startServer({
    data,
    settings: { agent: { fetchHosts: ['127.0.0.1'] } },
    logger: { info: note, warn: note, error: note },
  });
  harnesses = manage(server.url);
  others = manage(server.url, token);
});
afterAll(() => server[Symbol.asyncDispose]());

const canary = 'canary-credential-7391';
const mcp = { name: 'web', url: 'https://mcp.example.invalid/mcp' };
const skill = {
  name: 'fixture-skill',
  enabled: true,
  files: [
    {
      path: 'SKILL.md',
      content: '---\nname: fixture-skill\ndescription: A fixture.\n---\n\nSee references/data.md.\n',
    },
    { path: 'references/data.md', content: 'nested\n' },
    { path: 'assets/blob.bin', content_b64: 'AAECAwQF' },
  ],
};

describe('a harness', () => {
  test('F-01, Q-06, Q-08: is made on a base that a refusal names, changed, deleted, and then not there', async () => {
    const { status, code, detail } = await harnesses.refused('POST', '/v1/harnesses', { name: 'x', base: 'no-such' });
    expect({ status, code, detail }).toEqual({
      status: 422,
      code: 'unsupported_base',
      detail: { supported: ['native'] },
    });
    const made = await harnesses.create({ name: 'first' });
    expect(made).toMatchObject({ name: 'first', base: 'native', object: 'harness', plugins: [], environment: '' });
    expect(made.id).toMatch(/^chrn_/);
    expect(await harnesses.put(made.id, { name: 'renamed', base: 'native' })).toEqual({ ...made, name: 'renamed' });
    expect((await harnesses.remove(made.id)).body).toEqual({ id: made.id, deleted: true });
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['GET', '/plugin'],
      ['GET', '/skills/x/files'],
    ] as const) {
      const body = method === 'PUT' ? { name: 'x' } : undefined;
      const { status: gone, code: why } = await harnesses.refused(method, `/v1/harnesses/${made.id}${path}`, body);
      expect([gone, why]).toEqual([404, 'harness_not_found']);
    }
  });

  test('UD-41: needs a base; without a name it has that of its base', async () => {
    expect(await harnesses.refused('POST', '/v1/harnesses', {})).toMatchObject({ status: 400, param: 'base' });
    expect((await harnesses.create()).name).toBe('Reins');
  });

  test('UD-32: what is absent stays, what is null is cleared, what is there replaces the whole', async () => {
    const { id } = await harnesses.create({
      name: 'n',
      system_prompt: 'p',
      default_model: 'demo',
      max_step: 3,
      timeout_seconds: 60,
      disabled_tools: ['bash', 'WebSearch', 'bash'],
      mcp_servers: [mcp],
      reins_permission_mode: 'allow-reads',
      reinsToolPermissions: { bash: 'deny' },
      reins_model_fallback: true,
    });
    const before = await harnesses.read(id);
    expect(before).toMatchObject({ systemPrompt: 'p', maxStep: 3, disabledTools: ['bash', 'WebSearch', 'bash'] });
    expect(before).toMatchObject({ reinsPermissionMode: 'allow-reads', reinsModelFallback: true });
    expect(await harnesses.put(id, {})).toEqual(before);
    const cleared = await harnesses.put(id, {
      name: null,
      system_prompt: null,
      default_model: null,
      max_step: null,
      timeoutSeconds: null,
      disabled_tools: ['x'],
      mcp_servers: null,
      reins_permission_mode: null,
      reins_model_fallback: null,
    });
    expect(cleared).toMatchObject({ name: 'Reins', systemPrompt: '', maxStep: null, timeoutSeconds: null });
    expect(cleared).toMatchObject({ disabledTools: ['x'], mcpServers: [], reinsModelFallback: false });
    expect(cleared).toMatchObject({ reinsPermissionMode: 'allow-all', reinsToolPermissions: { bash: 'deny' } });
    expect(cleared).not.toHaveProperty('defaultModel');
  });

  test('U-126: what was read is written back whole and changes nothing', async () => {
    const { id } = await harnesses.create({
      mcp_servers: [{ ...mcp, headers: { 'X-Key': canary }, auth: canary, enabled: false }],
      skills: [skill, { name: 'suppressed', enabled: false }],
      reins_questions: true,
    });
    const read = await harnesses.read(id);
    expect(await harnesses.put(id, read)).toEqual(read);
  });

  test('U-104: its base never changes', async () => {
    const { id } = await harnesses.create();
    expect(await harnesses.refused('PUT', `/v1/harnesses/${id}`, { base: 'codex' })).toMatchObject({
      status: 400,
      code: 'invalid_input',
      param: 'base',
    });
  });

  test('writes at the same time that say different things are all kept', async () => {
    const { id } = await harnesses.create({ mcp_servers: [mcp] });
    const changes = [{ name: 'n' }, { max_step: 7 }, { system_prompt: 'p' }, { disabled_tools: ['d'] }];
    await Promise.all(changes.map((change) => harnesses.put(id, change)));
    expect(await harnesses.read(id)).toMatchObject({ name: 'n', maxStep: 7, systemPrompt: 'p', disabledTools: ['d'] });
  });

  test('U-045: is written with the scope to manage only', async () => {
    const limited = manage(server.url, reader);
    const { id } = await harnesses.create({ skills: [skill] });
    expect(await limited.files(id, 'skills', skill.name)).toHaveLength(3);
    const writes = [
      ['POST', '/v1/harnesses', { base: 'native' }],
      ['PUT', `/v1/harnesses/${id}`, {}],
      ['DELETE', `/v1/harnesses/${id}`, undefined],
    ] as const;
    for (const [method, path, body] of writes)
      expect(await limited.refused(method, path, body)).toMatchObject({ status: 403, code: 'insufficient_scope' });
  });

  test('U-042: of another principal is one that does not exist', async () => {
    const { id } = await harnesses.create({ skills: [skill] });
    const calls = [
      ['PUT', '', {}],
      ['DELETE', '', undefined],
      ['GET', '/plugin', undefined],
      ['GET', `/skills/${skill.name}/files`, undefined],
      ['GET', '/plugins/x/files', undefined],
    ] as const;
    for (const [method, path, body] of calls) {
      const foreign = await others.refused(method, `/v1/harnesses/${id}${path}`, body);
      expect(foreign).toEqual(await others.refused(method, `/v1/harnesses/chrn_none${path}`, body));
      expect(foreign).toMatchObject({ status: 404, code: 'harness_not_found' });
    }
  });
});

describe('skills', () => {
  test('F-03, U-121: the whole folder comes back byte for byte', async () => {
    const { id, skills } = await harnesses.create({ skills: [skill] });
    expect(skills).toEqual([{ name: skill.name, enabled: true, blob: expect.any(String) }]);
    expect(await harnesses.files(id, 'skills', skill.name)).toEqual(skill.files);
  });

  test('F-04, UD-36: an unrelated edit loses nothing; files beside a handle win', async () => {
    const { id } = await harnesses.create({ skills: [skill] });
    const { base, skills, mcpServers, disabledTools } = await harnesses.read(id);
    await harnesses.put(id, { name: 'x', base, skills, mcp_servers: mcpServers, disabled_tools: disabledTools });
    expect(await harnesses.files(id, 'skills', skill.name)).toEqual(skill.files);
    const files = [{ path: 'SKILL.md', content: 'new' }];
    await harnesses.put(id, { skills: [{ ...skills[0], files }] });
    expect(await harnesses.files(id, 'skills', skill.name)).toEqual(files);
    await harnesses.put(id, { skills: [{ name: 'short', content: 'of one file' }] });
    expect(await harnesses.files(id, 'skills', 'short')).toEqual([{ path: 'SKILL.md', content: 'of one file' }]);
    expect(await harnesses.refused('GET', `/v1/harnesses/${id}/skills/${skill.name}/files`)).toMatchObject({
      status: 404,
      code: 'reins_skill_not_found',
    });
  });

  test('UD-36: a handle holds for the principal, in any harness, and for nobody else', async () => {
    const { skills } = await harnesses.create({ skills: [skill] });
    const copy = await harnesses.create({ skills });
    expect(await harnesses.files(copy.id, 'skills', skill.name)).toEqual(skill.files);
    const refusal = { status: 400, code: 'invalid_input', param: 'skills[0].blob' };
    expect(await others.refused('POST', '/v1/harnesses', { base: 'native', skills })).toMatchObject(refusal);
    const unknown = [{ name: 's', blob: 'sha256:0' }];
    expect(await harnesses.refused('POST', '/v1/harnesses', { base: 'native', skills: unknown })).toMatchObject(
      refusal,
    );
  });

  test('UD-40: one that is only suppressed needs no files, and has none', async () => {
    const { id, skills } = await harnesses.create({ skills: [{ name: 'of-the-base', enabled: false }] });
    expect(skills).toEqual([{ name: 'of-the-base', enabled: false }]);
    expect(await harnesses.files(id, 'skills', 'of-the-base')).toEqual([]);
  });
});

describe('U-106: a refused write', () => {
  const file = (more: object) => ({ skills: [skill, { name: 'b', files: [skill.files[0], more] }] });
  test.each<[string, object, string | null, string?]>([
    ['F-05: no SKILL.md', { skills: [{ name: 's', files: [{ path: 'a.md', content: '' }] }] }, 'skills[0].files'],
    ['no files at all', { skills: [{ name: 's', files: [] }] }, 'skills[0].files'],
    ['nothing but a name', { skills: [{ name: 's' }] }, 'skills[0].files'],
    ['content beside files', { skills: [{ ...skill, content: 'x' }] }, 'skills[0].content'],
    ['a path that escapes', file({ path: '../x', content: '' }), 'skills[1].files[1].path'],
    ['an absolute path', file({ path: '/etc/x', content: '' }), 'skills[1].files[1].path'],
    ['a path twice', file({ path: 'skill.MD', content: '' }), 'skills[1].files[1].path'],
    ['both contents', file({ path: 'x', content: '', content_b64: '' }), 'skills[1].files[1].content'],
    ['neither content', file({ path: 'x' }), 'skills[1].files[1].content'],
    ['no base64', file({ path: 'x', content_b64: '*' }), 'skills[1].files[1].content_b64'],
    ['a stdio server', { mcp_servers: [{ ...mcp, transport: 'stdio' }] }, 'mcp_servers[0].transport'],
    ['no http URL', { mcp_servers: [{ ...mcp, url: 'file:///x' }] }, 'mcp_servers[0].url'],
    ['a credential in the URL', { mcp_servers: [{ ...mcp, url: 'https://u:p@x/' }] }, 'mcp_servers[0].url'],
    ['no header', { mcp_servers: [{ ...mcp, headers: { 'a b': '' } }] }, 'mcp_servers[0].headers'],
    ['a broken token', { mcp_servers: [{ ...mcp, auth: 'a\nb' }] }, 'mcp_servers[0].auth'],
    ['an unknown secret', { mcp_servers: [{ ...mcp, auth: 'reins_secret:x' }] }, 'mcp_servers[0].auth'],
    ['UD-38: a server twice', { mcp_servers: [mcp, { ...mcp, enabled: false }] }, null, 'plugin_conflict'],
    ['UD-38: a skill twice', { skills: [skill, { ...skill, enabled: false }] }, null, 'plugin_conflict'],
    ['an unknown setting', { reins_turbo: true }, 'reins_turbo'],
    ['UD-33: two values', { max_step: 1, maxStep: 2 }, 'max_step'],
    ['an environment', { environment: 'henv_x' }, 'environment', 'invalid_input'],
    ['UD-88: a template that is not allowed', { reins_template: '/etc' }, 'reins_template'],
  ])('%s: says where, and leaves all as it was', async (_, change, param, code = 'invalid_input') => {
    const made = await harnesses.create({ skills: [skill], mcp_servers: [{ ...mcp, auth: canary }] });
    const before = await harnesses.list();
    const refusal = { code, param };
    const body = { name: 'changed', ...change };
    expect(await harnesses.refused('PUT', `/v1/harnesses/${made.id}`, body)).toMatchObject(refusal);
    expect(await harnesses.refused('POST', '/v1/harnesses', { base: 'native', ...body })).toMatchObject(refusal);
    expect(await harnesses.read(made.id)).toEqual(made);
    expect(await harnesses.files(made.id, 'skills', skill.name)).toEqual(skill.files);
    expect(await harnesses.list()).toEqual(before);
  });

  test('UD-63: one that is too large is told how large it may be', async () => {
    const files = [...skill.files, { path: 'big.bin', content_b64: Buffer.alloc(20 * 1024 * 1024).toString('base64') }];
    expect(await harnesses.refused('POST', '/v1/harnesses', { base: 'native', skills: [{ ...skill, files }] })).toEqual(
      {
        status: 413,
        code: 'file_too_large',
        param: null,
        detail: { max_bytes: 20 * 1024 * 1024 },
      },
    );
  });
});

describe('secrets', () => {
  const secret = { ...mcp, headers: { 'X-Key': `${canary}-header`, 'X-Other': `${canary}-other` }, auth: canary };

  test('UD-37: a handle keeps its value, for this harness only, and in its own place only', async () => {
    const made = await harnesses.create({ mcp_servers: [secret] });
    const [shown] = made.mcpServers;
    expect(Object.values(shown?.headers ?? {})).toEqual([
      expect.stringMatching(/^reins_secret:./),
      expect.stringMatching(/^reins_secret:./),
    ]);
    expect(shown?.auth).toMatch(/^reins_secret:./);
    const changed = await harnesses.put(made.id, {
      mcp_servers: [{ ...shown, name: 'renamed', headers: { 'X-Moved': shown?.headers['X-Key'], 'X-Other': 'new' } }],
    });
    expect(changed.mcpServers[0]?.auth).toBe(shown?.auth);
    expect(changed.mcpServers[0]?.headers['X-Moved']).toBe(shown?.headers['X-Key']);
    expect(changed.mcpServers[0]?.headers['X-Other']).not.toBe(shown?.headers['X-Other']);
    await using store = await openStoreOf(data);
    const [stored] =
      (await store.harnesses('owner')).find(({ harnessId }) => harnessId === made.id)?.setup.mcpServers ?? [];
    expect(stored).toMatchObject({ auth: { value: canary }, headers: { 'X-Moved': { value: `${canary}-header` } } });

    const elsewhere = { base: 'native', mcp_servers: [shown] };
    expect(await harnesses.refused('POST', '/v1/harnesses', elsewhere)).toMatchObject({ status: 400 });
    const asHeader = { mcp_servers: [{ ...mcp, headers: { 'X-Key': shown?.auth } }] };
    expect(await harnesses.refused('PUT', `/v1/harnesses/${made.id}`, asHeader)).toMatchObject({
      status: 400,
      param: 'mcp_servers[0].headers.X-Key',
    });
  });

  test('UT-28: a value is in no answer, no event, no log entry and no export', async () => {
    const seen: string[] = [];
    const saw = async (method: string, path: string, body?: object) => {
      const response = await fetch(server.url + path, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      seen.push(JSON.stringify([...response.headers]), await response.text());
    };
    const { id } = await harnesses.create({
      mcp_servers: [
        { ...secret, enabled: false },
        { ...secret, name: 'on' },
      ],
    });
    const task = { input: 'Say hello', metadata: { harness_id: id, reins_events: true }, stream: true };
    await saw('PUT', `/v1/harnesses/${id}`, { mcp_servers: [{ ...secret, transport: 'stdio' }] });
    await saw('PUT', `/v1/harnesses/${id}`, { mcp_servers: [{ ...secret, auth: `${canary}\n` }] });
    await saw('PUT', `/v1/harnesses/${id}`, { mcp_servers: [secret, secret] });
    await saw('PUT', `/v1/harnesses/${id}`, { mcp_servers: [{ ...secret, url: 'http://127.0.0.1:9/' }] });
    await saw('GET', `/v1/harnesses/${id}`);
    await saw('GET', '/v1/harnesses');
    await saw('GET', `/v1/harnesses/${id}/plugin`);
    await saw('POST', '/v1/responses', task);
    expect(seen.join('\n')).toContain('response.completed');
    await using store = await openStoreOf(data);
    const runId = runIds.parse(/resp_[\w-]+/.exec(seen.at(-1) ?? '')?.[0] ?? '') ?? runIds.make('none');
    const events = JSON.stringify(await store.readEvents(runId, { after: 0, limit: 1000 }));
    expect(events).toContain('reins_secret:');
    expect([...seen, ...log, events].join('\n')).not.toContain(canary);
  });
});

describe('tasks', () => {
  async function configOf(responseId: string) {
    await using store = await openStoreOf(data);
    const runId = runIds.parse(responseId) ?? runIds.make('none');
    const [first] = await store.readEvents(runId, { after: 0, limit: 1 });
    return first?.type === 'run-started' ? first.data._config : undefined;
  }

  test('UP-37, U-111, U-124: get what is enabled, and hear of what is suppressed', async () => {
    const { id, skills } = await harnesses.create({
      mcp_servers: [
        { ...mcp, url: 'http://127.0.0.1:9/', headers: { Authorization: 'x', 'X-Key': 'y' }, auth: canary },
        { ...mcp, name: 'off', enabled: false },
      ],
      skills: [skill, { ...skill, name: 'disabled', enabled: false }, { name: 'of-the-base', enabled: false }],
    });
    const { body } = await server.uhp.create({ input: 'Say hello', metadata: { harness_id: id } });
    expect((await configOf(body.id))?.extensions).toEqual({
      mcpServers: [
        {
          name: 'web',
          url: 'http://127.0.0.1:9/',
          transport: 'http',
          secretHeaders: {
            Authorization: expect.stringMatching(/^reins_secret:/),
            'X-Key': expect.stringMatching(/^reins_secret:/),
          },
        },
      ],
      skills: [{ name: skill.name, bundle: skills[0]?.blob }],
      plugins: [],
      suppressedSkills: ['disabled', 'of-the-base'],
    });
  });

  test('UD-35, UT-22: each keeps what it began with; the next has the new; of a deleted harness all stays readable', async () => {
    const { id } = await harnesses.create({ system_prompt: 'old', disabled_tools: ['bash'] });
    const first = await server.uhp.create({ input: 'Say hello', metadata: { harness_id: id } });
    await harnesses.put(id, { system_prompt: 'new', disabled_tools: [] });
    const second = await server.uhp.create({ input: 'Again', previous_response_id: first.body.id });
    expect(await configOf(first.body.id)).toMatchObject({ systemPrompt: 'old', disabledTools: ['bash'] });
    expect(await configOf(second.body.id)).toMatchObject({ systemPrompt: 'new', disabledTools: [] });
    await harnesses.remove(id);
    for (const { body } of [first, second]) expect((await server.uhp.get(body.id)).body).toEqual(body);
    const next = await server.uhp.create({ input: 'More', previous_response_id: second.body.id });
    expect([next.status, next.code]).toEqual([404, 'harness_not_found']);
    const begun = await server.uhp.create({ input: 'More', metadata: { harness_id: id } });
    expect([begun.status, begun.param]).toEqual([404, 'metadata.harness_id']);
  });

  test('UD-47, UT-25: a default stands in for a model that cannot be served only where the harness lets it', async () => {
    const { id } = await harnesses.create({ default_model: 'no-such-model' });
    const task = { input: 'Say hello', metadata: { harness_id: id } };
    expect(await server.uhp.create(task)).toMatchObject({ status: 422, code: 'model_unavailable' });
    await harnesses.put(id, { reinsModelFallback: true });
    const { body } = await server.uhp.create(task);
    expect(body.metadata).toMatchObject({ requested_model: 'no-such-model', model_fallback: true });
    expect(body.model).toBe('demo');
  });
});

test('U-033, UP-01, P-01: discovery says that harnesses can be managed and plugins installed', async () => {
  const { body } = await connectTo(server.url).send('GET', '/v1/uhp');
  expect(body).toMatchObject({
    capabilities: { harness_management: true, plugins: true },
    plugin_schemas: ['https://agent-plugins.org/schemas/1.0.0/plugin.schema.json'],
  });
});
