// Plugin packages over real HTTP, on a real database.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addHarness, startServer, type TestServer } from './support/server.ts';
import { manage, type Managed, type SeenFile } from './support/managed.ts';
import { openStoreOf } from './support/rows.ts';
import { runIds } from '../src/core/ids.ts';
import { startedFolder } from './support/folders.ts';

let data: string;
let server: TestServer;
let harnesses: Managed;
let others: Managed;
beforeAll(async () => {
  data = await startedFolder();
  const { token } = await addHarness(data, 'other');
  server = await startServer({ data });
  harnesses = manage(server.url);
  others = manage(server.url, token);
});
afterAll(() => server[Symbol.asyncDispose]());

const schema = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json';
const json = (path: string, value: object): SeenFile => ({ path, content: JSON.stringify(value) });
const manifest = { $schema: schema, name: 'contract-review', version: '1.2.0' };
const mcpFile = (servers: object) =>
  json('mcp.json', { $schema: schema.replace('plugin.schema', 'mcp.schema'), mcpServers: servers });
const skillText = (name: string) => `---\nname: ${name}\ndescription: A list of risks.\n---\n`;
const files = [
  json('plugin.json', manifest),
  mcpFile({
    clauses: { type: 'streamable-http', url: 'https://mcp.example.invalid/', headers: { 'X-Plain': 'y' } },
    redline: { type: 'stdio', command: './bin/redline', args: ['--data', '${PLUGIN_DATA}'] },
  }),
  { path: 'skills/risks/SKILL.md', content: skillText('risks') },
  { path: 'skills/risks/references/clauses.md', content: 'Clauses.' },
  { path: 'bin/redline', content_b64: 'f0VMRgIB' },
];
const only = (name: string, ...more: readonly SeenFile[]) => ({
  files: [json('plugin.json', { ...manifest, name }), ...more],
});
const direct = { name: 'clauses', url: 'https://other.example.invalid/' };
const refusedCreate = (body: object) => harnesses.refused('POST', '/v1/harnesses', { base: 'native', ...body });

describe('installing', () => {
  test('P-02, UP-11: what a package is made of is derived; its files come back byte for byte', async () => {
    const forged = { manifest: { name: 'forged' }, mcpServers: [{}], skills: [{}], skipped: [{}] };
    const { id, plugins, mcpServers, skills } = await harnesses.create({ plugins: [{ files, ...forged }] });
    expect(plugins).toEqual([
      {
        name: 'contract-review',
        enabled: true,
        blob: expect.any(String),
        manifest,
        mcpServers: [
          {
            name: 'clauses',
            transport: 'http',
            url: 'https://mcp.example.invalid/',
            headers: { 'X-Plain': 'y' },
            enabled: true,
          },
          {
            name: 'redline',
            transport: 'stdio',
            command: './bin/redline',
            args: ['--data', '${PLUGIN_DATA}'],
            env: {},
            enabled: true,
          },
        ],
        skills: [{ name: 'risks', description: 'A list of risks.' }],
        skipped: [],
      },
    ]);
    // UP-37: never in the harness's own lists.
    expect([mcpServers, skills]).toEqual([[], []]);
    expect(await harnesses.files(id, 'plugins', 'contract-review')).toEqual(files);
    expect(await harnesses.refused('GET', `/v1/harnesses/${id}/plugins/none/files`)).toMatchObject({
      status: 404,
      code: 'plugin_not_found',
    });
  });

  test('P-05, UP-12: what was read, or a name and a handle, keeps the package; left out it goes', async () => {
    const made = await harnesses.create({ plugins: [{ files }, only('second')] });
    expect(await harnesses.put(made.id, made)).toEqual(made);
    const [first] = made.plugins;
    const kept = await harnesses.put(made.id, { plugins: [{ name: 'contract-review', blob: first?.blob }] });
    expect(kept.plugins).toEqual([first]);
    expect(await harnesses.files(made.id, 'plugins', 'contract-review')).toEqual(files);
    const renewed = await harnesses.put(made.id, { plugins: [{ ...first, ...only('contract-review') }] });
    expect(renewed.plugins[0]).toMatchObject({ mcpServers: [], skills: [] });
    expect((await harnesses.put(made.id, { plugins: null })).plugins).toEqual([]);
  });

  test('P-08: a disabled one stays installed, and no task hears of it', async () => {
    const { id, plugins } = await harnesses.create({ plugins: [{ files, enabled: false }, only('on')] });
    expect(plugins.map(({ name, enabled }) => [name, enabled])).toEqual([
      ['contract-review', false],
      ['on', true],
    ]);
    const { body } = await server.uhp.create({ input: 'Say hello', metadata: { harness_id: id } });
    await using store = await openStoreOf(data);
    const runId = runIds.parse(body.id) ?? runIds.make('none');
    const [first] = await store.readEvents(runId, { after: 0, limit: 1 });
    expect(first?.data).toMatchObject({
      _config: { extensions: { plugins: [{ name: 'on', mcpServers: [], skills: [] }], mcpServers: [], skills: [] } },
    });
  });

  test('P-07: a component that cannot be used is skipped and named, the others load', async () => {
    const odd = mcpFile({ pigeon: { type: 'carrier-pigeon' }, clauses: { type: 'sse', url: 'https://x.invalid/' } });
    const broken = { path: 'skills/broken/SKILL.md', content: 'no front matter' };
    const { plugins } = await harnesses.create({ plugins: [only('odd', odd, broken)] });
    expect(plugins[0]?.mcpServers.map(({ name }) => name)).toEqual(['clauses']);
    expect(plugins[0]?.skipped).toEqual([
      { path: 'mcp.json#/mcpServers/pigeon', reason: expect.stringMatching(/\.$/) },
      { path: 'skills/broken', reason: expect.stringMatching(/\.$/) },
    ]);
  });
});

describe('UP-13: a refused package', () => {
  const invalid = { status: 422, code: 'plugin_invalid' };
  test.each<[string, object, object]>([
    ['P-03: no manifest', { files: files.slice(1) }, { ...invalid, param: 'plugins[0]' }],
    ['nothing at all', { name: 'x' }, { ...invalid, param: 'plugins[0]' }],
    ['an unknown handle', { name: 'x', blob: 'sha256:0' }, invalid],
    ['UP-10: another name than the manifest’s', { files, name: 'other' }, { ...invalid, param: 'plugins[0].name' }],
    [
      'UP-15: a path that escapes',
      { files: [...files, { path: 'a/../../b', content: '' }] },
      { ...invalid, param: 'plugins[0].files[5].path', detail: { path: 'a/../../b' } },
    ],
    ['UP-15: a path twice', { files: [...files, files[0]] }, { ...invalid, detail: { path: 'plugin.json' } }],
    ['no base64', { files: [...files, { path: 'x', content_b64: '*' }] }, { ...invalid, detail: { path: 'x' } }],
    [
      'P-09: another schema',
      { files: [json('plugin.json', { ...manifest, $schema: `${schema}x` })] },
      { status: 422, code: 'unsupported_plugin_schema', detail: { supported: [schema] } },
    ],
    [
      'UP-14: too large a one',
      { files: [...files, { path: 'big', content: 'x'.repeat(20 * 1024 * 1024) }] },
      { status: 413, code: 'file_too_large', detail: { max_bytes: 20 * 1024 * 1024 } },
    ],
  ])('%s: leaves the harness as it was', async (_, plugin, refusal) => {
    const made = await harnesses.create({ plugins: [only('before')] });
    const path = `/v1/harnesses/${made.id}`;
    expect(await harnesses.refused('PUT', path, { name: 'changed', plugins: [plugin] })).toMatchObject(refusal);
    expect(await harnesses.read(made.id)).toEqual(made);
  });

  test('UD-36: a handle of another principal is unknown', async () => {
    const { plugins } = await harnesses.create({ plugins: [{ files }] });
    const body = { base: 'native', plugins: [{ blob: plugins[0]?.blob }] };
    expect(await others.refused('POST', '/v1/harnesses', body)).toMatchObject(invalid);
    expect(await harnesses.create(body)).toMatchObject({ plugins });
  });
});

describe('conflicts', () => {
  test('P-04, UP-38: with a direct server, until one side is disabled', async () => {
    const conflict = {
      status: 409,
      code: 'plugin_conflict',
      detail: { component: 'mcp_server', name: 'clauses', between: ['harness', 'contract-review'] },
    };
    expect(await refusedCreate({ plugins: [{ files }], mcp_servers: [direct] })).toMatchObject(conflict);
    const { id, plugins } = await harnesses.create({ plugins: [{ files }] });
    const path = `/v1/harnesses/${id}`;
    expect(await harnesses.refused('PUT', path, { mcp_servers: [direct] })).toMatchObject(conflict);
    const put = await harnesses.put(id, { mcp_servers: [direct], plugins: [{ ...plugins[0], enabled: false }] });
    expect(put.mcpServers).toHaveLength(1);
    expect(await harnesses.refused('PUT', path, { plugins })).toMatchObject(conflict);
    await harnesses.put(id, { plugins, mcp_servers: [{ ...direct, enabled: false }] });
  });

  test('UP-38: of skills, between plugins', async () => {
    const risks = { path: 'skills/risks/SKILL.md', content: skillText('risks') };
    expect(await refusedCreate({ plugins: [{ files }, only('second', risks)] })).toMatchObject({
      code: 'plugin_conflict',
      detail: { component: 'skill', name: 'risks', between: ['contract-review', 'second'] },
    });
  });

  test('P-10, UP-39: of two plugins of one name', async () => {
    const twice = [{ files }, { ...only('contract-review'), enabled: false }];
    expect(await refusedCreate({ plugins: twice })).toMatchObject({ status: 409, code: 'plugin_conflict' });
  });
});

describe('export', () => {
  test('P-06, UP-42: holds what is the harness’s own and enabled, no secret, and installs unchanged', async () => {
    const canary = 'canary-credential-7391';
    const own = {
      name: 'local',
      files: [
        { path: 'SKILL.md', content: skillText('local') },
        { path: 'data/x.bin', content_b64: 'AAE=' },
      ],
    };
    const { id } = await harnesses.create({
      name: 'My Harness..2',
      system_prompt: 'secret plan',
      disabled_tools: ['bash'],
      plugins: [{ files: [...files.slice(0, 1), ...files.slice(2)] }],
      mcp_servers: [
        { ...direct, headers: { 'X-Key': canary }, auth: canary },
        { ...direct, name: 'off', enabled: false },
      ],
      skills: [own, { ...own, name: 'off', enabled: false }],
    });
    const exported = await harnesses.exported(id);
    expect(exported).toMatchObject({
      name: 'my-harness.2',
      enabled: true,
      manifest: { $schema: schema, name: 'my-harness.2' },
      skills: [{ name: 'local', description: 'A list of risks.' }],
      skipped: [{ path: 'mcp.json#/mcpServers/clauses', reason: expect.stringMatching(/\.$/) }],
    });
    expect(exported.files.map(({ path }) => path)).toEqual([
      'plugin.json',
      'mcp.json',
      'skills/local/SKILL.md',
      'skills/local/data/x.bin',
    ]);
    expect(JSON.stringify(exported)).not.toMatch(/canary|reins_secret|secret plan|contract-review|"auth"|"X-Key"/);
    const { plugins } = await harnesses.create({ plugins: [exported] });
    expect(plugins).toMatchObject([{ name: 'my-harness.2', skipped: [], skills: [{ name: 'local' }] }]);
    expect(plugins[0]?.mcpServers).toEqual(exported.mcpServers);
  });

  test('UP-40: of a harness with nothing of its own is just a manifest', async () => {
    const { id } = await harnesses.create({ name: '日本' });
    const exported = await harnesses.exported(id);
    expect(exported.files).toHaveLength(1);
    expect(exported).toMatchObject({ mcpServers: [], skills: [], skipped: [] });
    expect((await harnesses.create({ plugins: [exported] })).plugins).toHaveLength(1);
  });
});

test('what is installed is there after a restart', async () => {
  const { id, plugins } = await harnesses.create({ plugins: [{ files }] });
  await server[Symbol.asyncDispose]();
  server = await startServer({ data });
  harnesses = manage(server.url);
  expect((await harnesses.read(id)).plugins).toEqual(plugins);
  expect(await harnesses.files(id, 'plugins', 'contract-review')).toEqual(files);
});
