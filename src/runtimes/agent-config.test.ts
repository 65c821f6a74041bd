import { describe, expect, test } from 'vitest';
import { agentRefOf, parseAgentConfig, type AgentConfig } from './agent-config.ts';
import { createAgent } from '../agent.ts';
import { loadConfig } from '../config.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { noSettings } from '../../test/support/agents.ts';

const create = (config: object, parts: Parameters<typeof createAgent>[1] = {}) =>
  createAgent(config, { settings: noSettings, ...parts });
const model = createScriptedModel([]);
const digest = (config: AgentConfig) => agentRefOf(parseAgentConfig(config)).digest;

describe('E-020: a wrong value throws where it is given, and is named', () => {
  test.each([
    [{ modell: 'demo' }, 'modell'],
    [{ model: '' }, 'model'],
    [{ name: 'a b' }, 'name'],
    [{ temperature: 3 }, 'temperature'],
    [{ temperature: NaN }, 'temperature'],
    [{ maxTokens: 0 }, 'maxTokens'],
    [{ fallbacks: [{ provider: 'openai' }] }, 'fallbacks.0.model'],
    [{ limits: { maxSteps: -1 } }, 'limits.maxSteps'],
    [{ limits: { maxSteps: 1.5 } }, 'limits.maxSteps'],
    [{ limits: { maxStep: 1 } }, 'limits.maxStep'],
    [{ limits: { loopGuard: { threshold: 1 } } }, 'limits.loopGuard.threshold'],
    [{ retry: { attempts: 0 } }, 'retry.attempts'],
    [{ retry: { jitter: Infinity } }, 'retry.jitter'],
    [{ retry: { onLongRetryAfter: 'wait' } }, 'retry.onLongRetryAfter'],
    [{ progress: { firstAfterSeconds: 0 } }, 'progress.firstAfterSeconds'],
    [{ tools: { maxConcurrent: 0 } }, 'tools.maxConcurrent'],
    [{ tools: { retry: { attempts: 0 } } }, 'tools.retry.attempts'],
    [{ compaction: { maxSummaries: -1 } }, 'compaction.maxSummaries'],
    [{ promptCache: { ttl: '1d' } }, 'promptCache.ttl'],
    [{ approvals: { direct: 'ask' } }, 'approvals.direct'],
    [{ permissionMode: 'yolo' }, 'permissionMode'],
    [{ toolPermissions: { bash: 'maybe' } }, 'toolPermissions.bash'],
    [{ outputSchema: { type: () => 'object' } }, 'outputSchema.type'],
  ])('%j', (config, key) => {
    expect(() => create(config)).toThrow(expect.objectContaining({ type: 'ConfigurationError' }));
    expect(() => create(config)).toThrow(`'${key}'`);
  });

  test.each([
    ['a model that nobody serves', { model: 'no-such-model' }, {}, /no-such-model/],
    ['a model whose key is missing', { model: 'claude-sonnet-4.6' }, {}, /ANTHROPIC_API_KEY/],
    ['a provider without a model', { provider: 'anthropic' }, {}, /anthropic/],
    ['a provider that is none', { provider: 'acme', model: 'm' }, {}, /acme/],
    ['a fallback that nobody serves', { fallbacks: [{ model: 'no-such-model' }] }, {}, /no-such-model/],
    ['a workspace that is not there', {}, { workspace: '/no/such/folder' }, /no\/such\/folder/],
    ['two tools of one name', {}, { tools: ['a', 'a'].map(plainTool) }, /'a'/],
    ['two sub-agents of one name', {}, { subagents: ['b', 'b'].map(plainAgent) }, /'delegate_b'/],
    ['a sub-agent without a good name', {}, { subagents: [plainAgent('a b')] }, /'name'/],
    [
      'a sub-agent with a wrong value',
      {},
      { subagents: [{ ...plainAgent('b'), config: { maxTokens: 0 } }] },
      /maxTokens/,
    ],
  ])('%s', (_, config, parts, sentence) => {
    expect(() => create(config, parts)).toThrow(expect.objectContaining({ type: 'ConfigurationError' }));
    expect(() => create(config, parts)).toThrow(sentence);
  });

  test.each([
    ['E-025: another provider', { provider: 'openai' }],
    ['E-025: another model', { model: 'demo' }],
    ['E-025: fallbacks', { fallbacks: [{ model: 'demo' }] }],
  ])('%s beside a model that was given', (_, config) => {
    expect(() => create(config, { provider: model })).toThrow(expect.objectContaining({ type: 'ConfigurationError' }));
  });

  test('E-025: a model that was given may be named', async () => {
    await using agent = create({ provider: 'scripted', model: 'scripted-1' }, { provider: model });
    await expect(agent.run('Hi', { model: 'scripted-2' })).rejects.toThrow(/scripted-2/);
  });
});

function plainTool(name: string) {
  return { name, description: '', inputSchema: { type: 'object' }, run: async () => ({ content: '' }) } as const;
}
function plainAgent(name: string) {
  return { name, description: 'Helps.' };
}

test('E-020: the configuration is a frozen copy', () => {
  const given = { limits: { maxSteps: 7 }, outputSchema: { type: 'object', required: ['a'] } };
  const parsed = parseAgentConfig(given);
  given.limits.maxSteps = 8;
  given.outputSchema.required.push('b');
  expect(parsed).toMatchObject({ limits: { maxSteps: 7 }, outputSchema: { required: ['a'] } });
  expect(() => Object.assign(parsed.limits, { maxSteps: 9 })).toThrow(TypeError);
  expect([Object.isFrozen(given), Object.isFrozen(given.outputSchema)]).toEqual([false, false]);
});

describe('E-053: the digest', () => {
  test('is the same in whatever order keys come, with defaults written out or not', () => {
    const one: AgentConfig = { systemPrompt: 'Be.', limits: { maxSteps: 3, maxSeconds: 9 } };
    const other: AgentConfig = {
      limits: { maxSeconds: 9, maxSteps: 3, maxToolRounds: null },
      systemPrompt: 'Be.',
      planning: false,
    };
    expect(digest(other)).toBe(digest(one));
    expect(digest(one)).toMatch(/^[0-9a-f]{32}$/);
  });

  test('is another one where anything differs', () => {
    const configs: AgentConfig[] = [
      {},
      { systemPrompt: 'Be.' },
      { limits: { maxSteps: 3 } },
      { toolPermissions: { a: 'ask' } },
    ];
    expect(new Set(configs.map(digest)).size).toBe(configs.length);
  });
});

test('E-350: fallbacks are names, each with a provider of its own or the first that serves it', async () => {
  const settings = loadConfig({ env: { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:9/v1' }, readFile: () => null });
  const fallbacks = [{ model: 'demo' }, { provider: 'openai-compatible', model: 'qwen3', maxTokens: 100 }];
  await using agent = create({ model: 'openai-compatible/llama', fallbacks }, { settings });
  expect(agent.closed).toBe(false);
});
