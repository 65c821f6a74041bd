import { expect, test } from 'vitest';
import { createCatalogue } from './engine/models/catalogue.ts';
import { createManualClock } from './testing/manual-clock.ts';
import { createProviderStanding } from './harnesses/relay/provider-standing.ts';
import { createScriptedModel } from './testing/scripted-model.ts';
import { modelsInStanding } from './models-in-standing.ts';

const call = { request: 1, usage: null, dollars: null };
const among = ['anthropic', 'openai'] as const;

function rig() {
  const clock = createManualClock();
  const standing = createProviderStanding(clock);
  const providers = { anthropic: { apiKey: 'a' }, openai: { apiKey: 'o' } };
  const catalogue = createCatalogue({ providers, demo: createScriptedModel([]) });
  const models = modelsInStanding(catalogue, standing);
  return {
    clock,
    standing,
    models,
    available: (id: string) => models.list(among).find((each) => each.id === id),
  };
}

test('H-011: a model whose provider has just refused the key is listed as not available, and why; others stay', () => {
  const { standing, models, available } = rig();
  expect(available('claude-sonnet-4.6')).toMatchObject({ available: true });
  expect(models.choose(null, among)).toMatchObject({ id: 'claude-sonnet-5.5' });
  standing.hear({
    ...call,
    provider: 'anthropic',
    model: 'claude-sonnet-4-6',
    how: 'refused',
    failure: 'authentication',
    status: 401,
  });
  expect(available('claude-sonnet-4.6')).toMatchObject({ available: false });
  expect(available('claude-sonnet-4.6')?.why).toContain('anthropic refused');
  expect(available('gpt-5.4')).toMatchObject({ available: true });
  expect(models.choose(null, among)).toMatchObject({ ref: { provider: 'openai' } });
  // Who asks for it finds out, and so does the list.
  expect(models.choose('claude-sonnet-4.6', among)).toMatchObject({ available: true });
});

test('H-011: a 403 is the model’s alone, by the provider’s own name for it; time or a success brings it back', async () => {
  const { clock, standing, available } = rig();
  const refused = { ...call, provider: 'anthropic', model: 'claude-opus-4-6', failure: 'authentication' } as const;
  standing.hear({ ...refused, how: 'refused', status: 403 });
  expect([available('claude-opus-4.6'), available('claude-sonnet-4.6')]).toMatchObject([
    { available: false },
    { available: true },
  ]);
  standing.hear({ ...refused, how: 'whole', status: 200, failure: null });
  expect(available('claude-opus-4.6')).toMatchObject({ available: true });
  standing.hear({ ...refused, how: 'refused', status: 403 });
  await clock.advance(15 * 60_000);
  expect(available('claude-opus-4.6')).toMatchObject({ available: true });
});

test('where every provider has refused, the default is what it would be, and says so', () => {
  const { standing, models } = rig();
  for (const provider of among)
    standing.hear({ ...call, provider, model: 'm', how: 'refused', failure: 'quota', status: 402 });
  expect(models.list(among).every(({ available }) => !available)).toBe(true);
  expect(models.choose(null, among)).toMatchObject({ available: true, id: 'claude-sonnet-5.5' });
});
