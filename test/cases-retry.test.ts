// Retry and fallback, each over real provider clients and real sockets.

import { needsOneServer } from './support/cluster-in-process.ts';
import { describe, expect, test } from 'vitest';
import { collect, scriptedAgent } from './support/agents.ts';
import { createManualClock } from '../src/testing/manual-clock.ts';
import { createRuntime } from '../src/runtime.ts';
import { ended } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { join } from 'node:path';
import { providerOf, startAgent, startModels, type Script } from './support/provided-agent.ts';
import { providers, startWith } from './support/provider.ts';
import { say, startModel } from './support/model.ts';
import { startServer } from './support/server.ts';
import { systemClock } from '../src/system.ts';
import { temporaryFolder } from './support/folders.ts';
import { whileTimePasses } from '../src/testing/chain-rig.ts';
import type { Clock } from '../src/core/clock.ts';
import type { ReplyFault, ScriptedReply } from '../src/testing/model-servers/reply-script.ts';

const fails = (fault: ReplyFault, reply: ScriptedReply = say('Never.')): ScriptedReply => ({ ...reply, fault });
const quick = { retry: { backoffSeconds: 0.005, maxBackoffSeconds: 0.02 } };

describe('B066: an error inside a 200 stream is judged by its type', () => {
  const overloads: Readonly<Record<string, readonly string[]>> = {
    ANTHROPIC: ['overloaded_error', 'rate_limit_error', 'api_error'],
    OPENAI: ['server_error', 'rate_limit_exceeded'],
    GOOGLE_GENERATIVE_AI: ['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'INTERNAL'],
    OPENROUTER: ['server_error', 'rate_limit_error'],
    OPENAI_COMPATIBLE: ['server_error', 'overloaded_error'],
  };
  const places = ['nothing', 0] as const;

  test.each(providers)('$name: an overload, whatever its name, is asked again and answered once', async (provider) => {
    for (const type of overloads[provider.prefix] ?? [])
      for (const after of places) {
        const script = [fails({ kind: 'error-event', after, type }), say('Here.')];
        await using rig = await startAgent([[provider, script]], { config: quick });
        const result = await rig.agent.run('Go.');
        expect([type, after, result.output, result.attempts]).toEqual([type, after, 'Here.', 2]);
      }
  });

  test.each(providers.filter(({ protocol }) => protocol !== 'google'))(
    '$name: what no waiting puts right is not asked again',
    async (provider) => {
      const final = [
        ['invalid_request_error', 'ProviderError'],
        ['insufficient_quota', 'QuotaExhaustedError'],
      ] as const;
      for (const [type, errorType] of final)
        for (const after of [0, 1]) {
          const message = 'No.';
          const script: Script = () => fails({ kind: 'error-event', after, type, message });
          await using rig = await startAgent([[provider, script]], { config: quick });
          expect(await rig.agent.run('Go.'), `${type} after ${after}`).toMatchObject({
            status: 'failed',
            error: { type: errorType, retryable: false },
          });
          expect(rig.servers[0]?.requests).toHaveLength(1);
        }
    },
  );

  test.each(providers)('$name: one that never ends is asked four times, with growing waits', async (provider) => {
    const script: Script = () => fails({ kind: 'error-event', after: 0 });
    await using rig = await startAgent([[provider, script]], { config: quick });
    const events = await collect(rig.agent.runStream('Go.'));
    expect(events.at(-1)).toMatchObject({ data: { status: 'failed', attempts: 4 } });
    const waits = events.flatMap((event) => (event.type === 'attempt-reset' ? [event.data.retryInMs] : []));
    expect(rig.servers[0]?.requests).toHaveLength(4);
    for (const [at, base] of [5, 10, 20].entries()) {
      expect(waits[at]).toBeGreaterThanOrEqual(base);
      expect(waits[at]).toBeLessThanOrEqual(Math.ceil(base * 1.25));
    }
  });
});

describe.each(providers)('B068: $name', (provider) => {
  const words = Array.from({ length: 51 }, (_, n) => `${n} `);

  test('when every attempt breaks after 50 deltas the task fails with the text of the last one, once', async () => {
    await using server = await startWith(
      provider,
      Array.from({ length: 4 }, () => fails({ kind: 'cut', after: 50 }, say(...words))),
    );
    const { body } = await server.uhp.create({ input: 'go' });
    expect(body).toMatchObject({ status: 'failed', error: { code: 'provider_error' } });
    expect(body.output.map(({ type, status }) => `${type} ${status}`)).toEqual(['message incomplete']);
    expect(body.output[0]?.content).toMatchObject([{ text: words.slice(0, 50).join('') }]);
    const next = await server.uhp.create({ input: 'again', previous_response_id: body.id });
    expect(next.status).toBe(200);
  });
});

/** The system's clock, which can be set forward: who looks at the time sees it, who waits does not. */
function adjustableClock(): Clock & { skip(ms: number): void } {
  let aheadMs = 0;
  return {
    now: () => systemClock.now() + aheadMs,
    timer: (ms, callback) => systemClock.timer(ms, callback),
    skip(ms) {
      aheadMs += ms;
    },
  };
}

describe('B071: spent quota is no busy moment', () => {
  const bodies: readonly (readonly [string, Extract<ReplyFault, { kind: 'status' }>])[] = [
    [
      '429, insufficient quota',
      { kind: 'status', status: 429, type: 'insufficient_quota', message: 'Check your plan.' },
    ],
    ['429, usage limit', { kind: 'status', status: 429, message: 'You have reached your usage limit for this month.' }],
    ['402', { kind: 'status', status: 402, message: 'Payment required.' }],
    ['403 for billing', { kind: 'status', status: 403, message: 'Billing is not active on this account.' }],
  ];
  const second = providerOf('OPENROUTER');
  const primaries = providers.filter(({ prefix }) => prefix !== second.prefix);

  test.each(primaries)(
    '$name: the next model answers at once, the spent one is left alone, then probed',
    async (primary) => {
      for (const [name, fault] of bodies) {
        const clock = adjustableClock();
        const script: Script = (_, index) => (index === 0 ? { fault } : say('Back.'));
        await using rig = await startAgent(
          [
            [primary, script],
            [second, () => say('Second.')],
          ],
          { clock },
        );
        const asked = () => rig.servers.map(({ requests }) => requests.length);
        const startedMs = performance.now();
        expect(await rig.agent.run('Go.'), name).toMatchObject({ output: 'Second.', attempts: 1 });
        expect(performance.now() - startedMs, name).toBeLessThan(1_000);
        expect([(await rig.agent.run('Go.')).output, asked()], name).toEqual(['Second.', [1, 2]]);
        clock.skip(901_000);
        expect([(await rig.agent.run('Go.')).output, asked()], name).toEqual(['Back.', [2, 2]]);
      }
    },
  );

  test('one that names its reset is left alone until then', async () => {
    const clock = adjustableClock();
    const [name, fault] = bodies[0] ?? ['', { kind: 'status', status: 429 }];
    const told = { ...fault, headers: { 'retry-after': '3600' } };
    const script: Script = (_, index) => (index === 0 ? { fault: told } : say('Back.'));
    await using rig = await startAgent(
      [
        [providerOf('OPENAI'), script],
        [second, () => say('Second.')],
      ],
      { clock },
    );
    const outputs: string[] = [];
    for (const minutes of [0, 16, 40, 5]) {
      clock.skip(minutes * 60_000);
      outputs.push((await rig.agent.run('Go.')).output);
    }
    expect(outputs, name).toEqual(['Second.', 'Second.', 'Second.', 'Back.']);
  });

  test('with nobody behind it the run fails at once and says so', async () => {
    const [, fault] = bodies[0] ?? ['', { kind: 'status', status: 429 }];
    await using rig = await startAgent([[providerOf('ANTHROPIC'), () => ({ fault })]]);
    expect(await rig.agent.run('Go.')).toMatchObject({ status: 'failed', error: { type: 'QuotaExhaustedError' } });
    expect(rig.servers[0]?.requests).toHaveLength(1);
  });
});

describe('B074: a provider that only ever says 429', () => {
  test.each([
    ['without a time', {}],
    ['with a short one', { 'retry-after': '2' }],
  ])('%s is asked fewer than twenty times by a hundred tasks in a row', async (_, headers) => {
    const clock = createManualClock();
    const rig = scriptedAgent(() => ({ fault: { kind: 'status', status: 429, headers } }), { clock });
    for (let task = 0; task < 100; task++) {
      const result = await whileTimePasses(rig.agent.run('Go.'), clock);
      expect(result).toMatchObject({ status: 'failed', error: { status: 429, retryable: true } });
    }
    expect(rig.model.calls.length).toBeLessThan(20);
  });

  test('that names a late hour is asked once by each start of a server that has no other', async () => {
    needsOneServer('each server asks for itself');
    const fault: ReplyFault = { kind: 'status', status: 429, headers: { 'retry-after': '36000' } };
    await using model = await startModel(() => [{ fault }]);
    const data = temporaryFolder();
    for (let start = 0; start < 3; start++) {
      await using server = await startServer({ data, ...model });
      for (let task = 0; task < 20; task++) {
        const { body } = await server.uhp.create({ input: `task ${task}` });
        expect(body).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('10 hours') } });
      }
    }
    expect(model.server.requests.length).toBeLessThan(10);
  });

  test('E-215: and where there is another, it is not asked again before that hour, over restarts too', async () => {
    const fault: ReplyFault = { kind: 'status', status: 429, headers: { 'retry-after': '36000' } };
    const clock = adjustableClock();
    const script: Script = (_, index) => (index === 0 ? { fault } : say('First.'));
    await using models = await startModels([
      [providerOf('ANTHROPIC'), script],
      [providerOf('OPENROUTER'), () => say('Second.')],
    ]);
    const path = join(temporaryFolder(), 'runs.sqlite');
    const outputs: string[] = [];
    for (let start = 0; start < 4; start++) {
      const agent = { config: models.config, parts: { settings: models.settings } };
      await using runtime = createRuntime({ agents: [agent], driver: { kind: 'sqlite', path }, clock });
      outputs.push((await runtime.run('Go.')).output);
      if (start === 2) clock.skip(36_000_000);
    }
    expect([outputs, models.servers[0]?.requests.length]).toEqual([['Second.', 'Second.', 'Second.', 'First.'], 2]);
  });
});

test.each(providers)(
  'B076: $name: the attempt after a broken one has a live signal, which a cancel reaches',
  async (provider) => {
    const broken = fails({ kind: 'cut', after: 1 }, say('One ', 'two'));
    const stalled = fails({ kind: 'stall', after: 1 }, say('Three ', 'four'));
    await using server = await startWith(provider, [broken, stalled, say('Done.')]);
    const { body } = await server.uhp.create({ input: 'go', background: true });
    await eventually(() => (server.model.requests.length === 2 && server.model.open === 1) || undefined);
    await eventually(async () => JSON.stringify((await server.uhp.get(body.id)).body).includes('Three') || undefined);
    const startedMs = performance.now();
    await server.uhp.cancel(body.id);
    await eventually(() => server.model.open === 0 || undefined);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(await ended(server.uhp, body.id)).toMatchObject({ status: 'cancelled' });
    expect((await server.uhp.create({ input: 'on', previous_response_id: body.id })).body.status).toBe('completed');
  },
);
