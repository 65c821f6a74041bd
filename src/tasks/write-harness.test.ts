// What of a harness's configuration hangs on the server's own: its bases and its settings. All else is told over HTTP, in
// `test/harness-management.test.ts` and `test/plugins.test.ts`.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { composeLocal, type Local } from '../compose.ts';
import { createHarness, updateHarness } from './write-harness.ts';
import { createRegistry } from '../harnesses/registry.ts';
import { loadConfig } from '../config.ts';
import { nativeCapabilities } from '../harnesses/native/native-adapter.ts';
import { readSecret } from './read-secret.ts';
import { runConfigOf } from './run-config.ts';
import { plainTask } from './task-body.ts';
import { tmpdir } from 'node:os';
import type { HarnessAdapter } from '../harnesses/harness.ts';
import type { SentServer } from './harness-body.ts';
import type { Services } from './services.ts';

let local: Local;
let services: Services;
beforeEach(() => {
  local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
  const settings = { ...local.services.settings, templates: ['/srv/template'], maxBundleBytes: 100 };
  services = { ...local.services, settings };
});
afterEach(() => local[Symbol.asyncDispose]());

function withBase(base: string, more: Partial<HarnessAdapter> = {}, installed = true): Services {
  const native = services.harnesses.adapter('native');
  if (native === undefined) throw new Error('There is no native base.');
  const status = { version: null, problem: null, models: [], defaultModel: '', capabilities: nativeCapabilities };
  const { mcpTransports: _, ...plain } = native;
  const adapter = { ...plain, base, probe: async () => ({ installed, ...status }), ...more };
  return { ...services, harnesses: createRegistry([adapter, native]) };
}

const server: SentServer = {
  name: 'web',
  url: 'https://mcp.example/',
  transport: 'http',
  enabled: true,
  headers: {},
  auth: null,
};

describe('bases', () => {
  test('UD-41: only those that can be used are named, the preferred one first', async () => {
    const refused = (all: Services) => createHarness(all, 'me', { base: 'none' });
    const supporting = (...supported: readonly string[]) => expect.objectContaining({ detail: { supported } });
    await expect(refused(withBase('other'))).rejects.toThrow(supporting('other', 'native'));
    await expect(refused(withBase('other', {}, false))).rejects.toThrow(supporting('native'));
    const agent = { ref: { name: 'a', version: null, digest: '' } } as unknown as NonNullable<HarnessAdapter['agent']>;
    await expect(refused(withBase('other', { agent }))).rejects.toThrow(supporting('native'));
    await expect(createHarness(withBase('other', {}, false), 'me', { base: 'other' })).rejects.toThrow(
      expect.objectContaining({ status: 422, code: 'unsupported_base' }),
    );
  });

  test('B140: a base that is known and not installed is told from one that nobody knows, with the way to it', async () => {
    const problem = { code: 'not-installed', message: 'Other is not installed: get other' };
    const found = await withBase('other').harnesses.adapter('other')?.probe();
    if (found === undefined) throw new Error('It has no status.');
    const all = withBase('other', { probe: async () => ({ ...found, installed: false, problem }) });
    await expect(createHarness(all, 'me', { base: 'other' })).rejects.toThrow(
      'This server knows this harness base, but cannot run it now: Other is not installed: get other. On its machine, reins harnesses tells more.',
    );
    await expect(createHarness(all, 'me', { base: 'none' })).rejects.toThrow('This server knows no such harness base');
  });

  test('U-114, UP-35: a transport that a base cannot run is refused when it is configured', async () => {
    const schema = 'https://agent-plugins.org/schemas/1.0.0';
    const servers = { one: { type: 'stdio', command: 'x' } };
    const plugin = {
      enabled: false,
      files: [
        { path: 'plugin.json', content: JSON.stringify({ $schema: `${schema}/plugin.schema.json`, name: 'p' }) },
        { path: 'mcp.json', content: JSON.stringify({ $schema: `${schema}/mcp.schema.json`, mcpServers: servers }) },
      ],
    };
    const large = { ...services, settings: { ...services.settings, maxBundleBytes: 1000 } };
    const remote = { ...large, harnesses: withBase('other', { mcpTransports: ['http'] }).harnesses };
    await expect(createHarness(remote, 'me', { base: 'other', plugins: [plugin] })).rejects.toThrow(
      expect.objectContaining({
        status: 422,
        code: 'unsupported_transport',
        detail: { transport: 'stdio', base: 'other' },
      }),
    );
    await expect(createHarness(remote, 'me', { base: 'other', mcpServers: [server] })).resolves.toBeDefined();
    await expect(createHarness(withBase('none'), 'me', { base: 'none', mcpServers: [server] })).rejects.toThrow(
      expect.objectContaining({ code: 'unsupported_transport' }),
    );
    await expect(createHarness(large, 'me', { base: 'native', plugins: [plugin] })).resolves.toBeDefined();
  });
});

describe('settings', () => {
  test('UD-88: a template is one of those that the operator has named', async () => {
    const { record } = await createHarness(services, 'me', { base: 'native', template: '/srv/template' });
    expect(record.setup.template).toBe('/srv/template');
    const change = (template: string | null) =>
      updateHarness(services, 'me', { harnessId: record.harnessId, body: { template } });
    for (const template of ['/srv/template/..', '/srv', '/srv/template/sub'])
      await expect(change(template)).rejects.toThrow(expect.objectContaining({ param: 'reins_template' }));
    expect((await change(null)).record.setup.template).toBeNull();
  });

  test('UD-63: the cap on a bundle is the server’s', async () => {
    const skills = [{ name: 's', enabled: true, content: 'x'.repeat(101) }];
    await expect(createHarness(services, 'me', { base: 'native', skills })).rejects.toThrow(
      expect.objectContaining({ status: 413, detail: { max_bytes: 100 } }),
    );
  });

  test('UR-02: a permission that is written holds beside the server’s own for the rest', async () => {
    const permissions = { ...services.settings.permissions, mode: 'allow-edits', tools: { bash: 'ask' } } as const;
    const strict = { ...services, settings: { ...services.settings, permissions } };
    const made = await createHarness(strict, 'me', { base: 'native' });
    expect(made.record.permissions).toEqual(permissions);
    expect((await strict.store.harness(made.record.harnessId))?.permissions).toBeNull();
    const body = { questions: true };
    const { record } = await updateHarness(strict, 'me', { harnessId: made.record.harnessId, body });
    expect(record.permissions).toMatchObject({ mode: 'allow-edits', tools: { bash: 'ask' }, questions: true });
  });
});

describe('secrets', () => {
  async function valuesOf(servers: readonly SentServer[]): Promise<Readonly<Record<string, string | null>>> {
    const { record } = await createHarness(services, 'me', { base: 'native', mcpServers: servers });
    const { extensions } = await runConfigOf(services, record, { ...plainTask, messages: [] });
    const headers = Object.entries(extensions?.mcpServers[0]?.secretHeaders ?? {});
    const read = headers.map(async ([name, handle]) => [name, await readSecret(services, record.harnessId, handle)]);
    return Object.fromEntries(await Promise.all(read));
  }

  test('U-110: a header has its value, a token its scheme', async () => {
    expect(await valuesOf([{ ...server, headers: { 'X-Key': 'v' }, auth: 't' }])).toEqual({
      'X-Key': 'v',
      Authorization: 'Bearer t',
    });
    expect(await valuesOf([{ ...server, auth: 'Basic abc' }])).toEqual({ Authorization: 'Basic abc' });
    expect(await valuesOf([{ ...server, headers: { authorization: 'v' }, auth: 't' }])).toEqual({
      Authorization: 'Bearer t',
    });
  });

  test('UD-37: a handle of another harness stands for nothing', async () => {
    const { record } = await createHarness(services, 'me', {
      base: 'native',
      mcpServers: [{ ...server, auth: 'token' }],
    });
    const other = await createHarness(services, 'me', { base: 'native' });
    const handle = `reins_secret:${record.setup.mcpServers[0]?.auth?.id ?? ''}`;
    expect(await readSecret(services, record.harnessId, handle)).toBe('Bearer token');
    expect(await readSecret(services, other.record.harnessId, handle)).toBeNull();
    expect(await readSecret(services, record.harnessId, 'token')).toBeNull();
  });
});
