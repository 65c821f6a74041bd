import { expect, test } from 'vitest';
import { Registry } from 'prom-client';
import { countRelay } from './relay-figures.ts';

test('model calls of other agents are counted by provider: how they ended, their tokens, their price', async () => {
  const registry = new Registry();
  const count = countRelay([registry]);
  const usage = {
    inputTokens: 11,
    outputTokens: 7,
    cacheReadInputTokens: null,
    cacheCreationInputTokens: null,
    thinkingTokens: null,
  };
  count({ provider: 'openai', how: 'whole', usage, dollars: 0.25 });
  count({ provider: 'openai', how: 'whole', usage, dollars: 0.25 });
  count({ provider: 'openai', how: 'refused', usage: null, dollars: null });
  const figures = await registry.metrics();
  expect(figures).toContain('reins_relay_requests_total{provider="openai",how="whole"} 2');
  expect(figures).toContain('reins_relay_requests_total{provider="openai",how="refused"} 1');
  expect(figures).toContain('reins_relay_tokens_total{provider="openai",kind="input"} 22');
  expect(figures).toContain('reins_relay_tokens_total{provider="openai",kind="output"} 14');
  expect(figures).toContain('reins_relay_cost_dollars_total{provider="openai"} 0.5');
});
