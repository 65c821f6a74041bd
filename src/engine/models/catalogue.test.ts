import { expect, test } from 'vitest';
import { catalogueEntries } from './catalogue-data.ts';
import { createCatalogue, type CatalogueOptions } from './catalogue.ts';
import { createScriptedModel } from '../../testing/scripted-model.ts';

const demo = createScriptedModel([]);
const catalogue = (options: Partial<CatalogueOptions> = {}) => createCatalogue({ providers: {}, demo, ...options });
const key = { apiKey: 'k' };

test('UD-84: ids are canonical and every provider name leads back to one entry', () => {
  const names = catalogueEntries.flatMap((entry) =>
    Object.values(entry.names).map((name) => [name, entry.id] as const),
  );
  for (const { id } of catalogueEntries) expect(id).toMatch(/^[a-z]+-[a-z0-9.-]+$/);
  expect(new Map(names).size).toBe(new Set(names.map(([name, id]) => `${name} ${id}`)).size);
  expect(new Set(catalogueEntries.map(({ id }) => id)).size).toBe(catalogueEntries.length);
});

test('U-143: without a credential only demo is available, is the default, and the list says what is missing', async () => {
  await using models = catalogue();
  expect(models.list().filter(({ available }) => available)).toMatchObject([{ id: 'demo' }]);
  expect(models.defaultModel).toBe('demo');
  expect(models.choose(null)).toEqual({ available: true, id: 'demo', ref: { provider: 'demo', model: 'demo' } });
  expect(models.choose('claude-sonnet-4.6')).toEqual({
    available: false,
    id: 'claude-sonnet-4.6',
    why: 'Set ANTHROPIC_API_KEY or OPENROUTER_API_KEY to use it.',
  });
});

test('UD-84: makers come before aggregators unless the operator orders otherwise', () => {
  const providers = { anthropic: key, openrouter: key };
  expect(catalogue({ providers }).choose('claude-sonnet-4.6')).toMatchObject({ ref: { provider: 'anthropic' } });
  const openrouterFirst = catalogue({ providers, order: ['openrouter'] });
  expect(openrouterFirst.choose('claude-sonnet-4.6')).toMatchObject({ ref: { provider: 'openrouter' } });
  expect(catalogue({ providers: { openrouter: key } }).choose('gpt-5.4')).toMatchObject({
    id: 'gpt-5.4',
    ref: { provider: 'openrouter', model: 'gpt-5.4' },
  });
});

test("UD-84: a provider's own name means the canonical model, whoever serves it", async () => {
  await using models = catalogue({ providers: { openrouter: key } });
  for (const name of ['claude-sonnet-4-6', 'anthropic/claude-sonnet-4.6']) {
    const choice = models.choose(name);
    expect(choice).toMatchObject({ available: true, id: 'claude-sonnet-4.6' });
    if (!choice.available) continue;
    expect((await models.open(choice.ref)).model.modelId).toBe('anthropic/claude-sonnet-4.6');
  }
});

test('UD-84: <provider>/<name> reaches models outside the catalogue and keeps the name as asked', async () => {
  await using models = catalogue({
    providers: { 'openai-compatible': { baseURL: 'http://127.0.0.1:1/v1' }, azure: key },
  });
  const choice = models.choose('openai-compatible/org/llama-4');
  expect(choice).toMatchObject({ available: true, id: 'openai-compatible/org/llama-4' });
  if (choice.available) expect((await models.open(choice.ref)).model.modelId).toBe('org/llama-4');
  expect(models.choose('azure/mine')).toMatchObject({
    available: false,
    why: expect.stringContaining('AZURE_RESOURCE_NAME'),
  });
});

test.each(['nonsense', '', '/', 'openai-compatible/', 'nobody/x', '__proto__', 'toString'])(
  'an unknown name is unavailable: %j',
  (name) => {
    expect(catalogue({ providers: { openai: key } }).choose(name)).toMatchObject({ available: false, id: name });
  },
);

test('UD-84: settings add and replace entries, and name the default', () => {
  const mine = { id: 'llama-4', label: 'Llama 4', contextTokens: null, maxOutputTokens: null, accepts: ['text/*'] };
  const entries = [{ ...mine, names: { 'openai-compatible': 'llama4' } }];
  const providers = { 'openai-compatible': { baseURL: 'http://127.0.0.1:1/v1' } };
  expect(catalogue({ entries, providers }).defaultModel).toBe('llama-4');
  expect(catalogue({ providers: { openai: key }, defaultModel: 'gpt-5.4' }).choose(null)).toMatchObject({
    id: 'gpt-5.4',
  });
  expect(catalogue({ defaultModel: 'gpt-5.4' }).choose(null)).toMatchObject({ available: false });
});

test('a default that no credential could serve is refused; one that only lacks a credential is not', () => {
  expect(() => catalogue({ defaultModel: 'gtp-5' })).toThrow("No model is called 'gtp-5'");
  expect(() => catalogue({ defaultModel: 'openai/x', order: ['anthropic'] })).toThrow('models.providers');
  expect(catalogue({ defaultModel: 'openai/x' }).choose(null)).toMatchObject({ available: false });
});

test('U-143: providers are listed in their order, with what is set and what to set', () => {
  const { providers } = catalogue({ providers: { openai: key, azure: key }, order: ['azure', 'openai'] });
  expect(providers()).toEqual([
    { provider: 'azure', configured: false, hint: 'AZURE_API_KEY with AZURE_RESOURCE_NAME' },
    { provider: 'openai', configured: true, hint: 'OPENAI_API_KEY' },
  ]);
});

test('an opened model brings its limits; OpenAI is told to keep nothing', async () => {
  await using models = catalogue({ providers: { openai: key, anthropic: key } });
  const gpt = await models.open({ provider: 'openai', model: 'gpt-5.4' });
  expect(gpt).toMatchObject({ maxOutputTokens: 128_000, providerOptions: { openai: { store: false } }, traits: {} });
  const claude = await models.open({ provider: 'anthropic', model: 'claude-haiku-4.5' });
  expect(claude).toMatchObject({ traits: { firstEventPromptly: true }, maxOutputTokens: 64_000 });
  expect(claude.model.modelId).toBe('claude-haiku-4-5');
  await expect(models.open({ provider: 'google', model: 'gemini-2.5-pro' })).rejects.toThrow(
    'GOOGLE_GENERATIVE_AI_API_KEY',
  );
});

test('UD-84: the demo model is there, but for our engine alone, and another harness is told so', () => {
  expect(catalogue().choose('demo', ['openai'])).toMatchObject({
    available: false,
    id: 'demo',
    why: expect.stringContaining("'native' alone"),
  });
});

test('UD-84: where a harness is named no model it gets the default of the settings, if its providers serve that, else one that they do', () => {
  const providers = { openai: key, 'openai-compatible': { baseURL: 'http://127.0.0.1:1/v1' } };
  const named = catalogue({ providers, defaultModel: 'openai-compatible/mine' });
  expect(named.choose(null, ['openai-compatible', 'openai'])).toMatchObject({ id: 'openai-compatible/mine' });
  expect(named.choose(null, ['openai'])).toMatchObject({ available: true, ref: { provider: 'openai' } });
  expect(catalogue({ providers }).choose(null, ['openai-compatible'])).toMatchObject({
    available: false,
    why: "Name its model, as openai-compatible/<name>: with the task, or for all in 'models.default'.",
  });
  expect(catalogue().choose(null, ['openai-compatible'])).toMatchObject({
    why: 'Set OPENAI_COMPATIBLE_BASE_URL to use it.',
  });
});
