import { expect, test } from 'vitest';
import { InvalidInputError, NotFoundError } from '../../core/errors.ts';
import { harnessIds } from '../../core/ids.ts';
import { toDiscovery } from './discovery.ts';
import { toEnvelope } from './error.ts';
import { toUhpHarness } from './harness.ts';
import { toHarnessModels, toModelCatalog } from './models.ts';
import { defaultVersion, negotiateVersion, versions } from './versions.ts';

const reins = { name: 'reins', version: '0.1.0' };
const core = { streaming: true, sessions: true, cancellation: true };
const extended = { ...core, files_input: true, files_output: true, session_listing: true };

test('U-032, U-033: the class agrees with what is served, and all else is stated false', () => {
  const discovery = toDiscovery({ ...core, idempotency: true }, reins);
  expect(discovery).toMatchObject({ object: 'uhp.discovery', protocol: 'uhp', conformance_class: 'core' });
  expect(discovery.capabilities).toMatchObject({
    streaming: true,
    idempotency: true,
    plugins: false,
    reins_queue: false,
  });
  expect(new Set(Object.values(discovery.capabilities))).toEqual(new Set([true, false]));
  expect(toDiscovery(extended, reins).conformance_class).toBe('extended');
  expect(toDiscovery({ ...extended, harness_management: true }, reins).conformance_class).toBe('extended');
  const full = { ...extended, harness_management: true, session_sharing: true };
  expect(toDiscovery(full, reins).conformance_class).toBe('full');
});

test('U-021, UD-72: no header means the newest version, an unknown one is refused with the list', () => {
  expect(negotiateVersion(undefined)).toBe(defaultVersion);
  for (const version of versions) expect(negotiateVersion(version)).toBe(version);
  expect(() => negotiateVersion('1999-01-01')).toThrow(
    expect.objectContaining({ status: 400, code: 'unsupported_protocol_version', detail: { supported: versions } }),
  );
});

test('U-050, U-051: the envelope always has all five keys', () => {
  expect(toEnvelope(new NotFoundError('harness', 'metadata.harness_id'))).toEqual({
    error: {
      type: 'invalid_request_error',
      code: 'harness_not_found',
      message: 'There is no such harness.',
      param: 'metadata.harness_id',
      detail: null,
    },
  });
  expect(toEnvelope(new InvalidInputError('No.')).error).toMatchObject({ param: null, detail: null });
});

test('U-101: a harness reads in camelCase and ms; without a default model the key is left out', () => {
  const facts = {
    harnessId: harnessIds.make('1'),
    name: 'n',
    base: 'native',
    defaultModel: null,
    systemPrompt: null,
    disabledTools: ['x'],
    maxStep: null,
    timeoutSeconds: 5,
    permissions: null,
    setup: {
      mcpServers: [
        {
          name: 'm',
          url: 'https://mcp.example/',
          transport: 'http' as const,
          enabled: false,
          headers: { 'X-Key': { id: 'h', value: 'canary' } },
          auth: { id: 'a', value: 'canary' },
        },
      ],
      skills: [
        { name: 's', enabled: true, bundle: 'sha256:1' },
        { name: 'off', enabled: false, bundle: null },
      ],
      modelFallback: true,
      template: null,
      workspaceConfig: false,
    },
    createdAtMs: 1_786_400_000_123,
  };
  const harness = toUhpHarness(facts, { label: 'Reins engine' });
  expect(harness).toMatchObject({ id: 'chrn_1', object: 'harness', createdAt: 1_786_400_000_123, timeoutSeconds: 5 });
  expect(harness).toMatchObject({ reinsPermissionMode: 'allow-all', reinsToolPermissions: {}, reinsQuestions: false });
  expect(harness).not.toHaveProperty('defaultModel');
  expect(harness).toMatchObject({ reinsModelFallback: true, reinsWorkspaceConfig: false });
  expect(harness).not.toHaveProperty('reinsTemplate');
  expect(harness.skills).toEqual([
    { name: 's', enabled: true, blob: 'sha256:1' },
    { name: 'off', enabled: false },
  ]);
  // UD-37: of a secret nothing but its handle.
  expect(harness.mcpServers[0]).toMatchObject({ headers: { 'X-Key': 'reins_secret:h' }, auth: 'reins_secret:a' });
  expect(JSON.stringify(harness)).not.toContain('canary');
});

test('UP-01: schemas of plugins are named exactly where plugins can be installed', () => {
  expect(toDiscovery(core, reins)).not.toHaveProperty('plugin_schemas');
  expect(toDiscovery({ ...core, plugins: true }, reins).plugin_schemas).toEqual([
    'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json',
  ]);
});

test('U-140 to U-142: models are listed by base, the harness’s own default is marked, and what is missing says why', () => {
  const backend = {
    base: 'native',
    defaultModel: 'demo',
    models: [
      { id: 'demo', label: 'Demo', available: true, why: 'It is built in.' },
      { id: 'gpt-5.4', label: 'GPT', available: false, why: 'Set OPENAI_API_KEY to use it.' },
    ],
  };
  const missing = [{ base: 'pi', label: 'Pi', why: 'Pi is not installed: npm install' }];
  const catalog = toModelCatalog({ backends: [backend], missing });
  expect(catalog.backends['native']?.default).toBe('demo');
  expect(catalog.backends['native']?.models.map(({ reins_why }) => reins_why)).toEqual([
    undefined,
    'Set OPENAI_API_KEY to use it.',
  ]);
  expect(catalog.reins_not_installed).toEqual(missing);
  const models = toHarnessModels(harnessIds.make('1'), backend, 'gpt-5.4');
  expect(models.models.map((model) => model.default)).toEqual([false, true]);
});
