// What a task owes to the relay between its agent and the provider: whole servers, real model calls, an agent that the test says.

import { afterEach, expect, test } from 'vitest';
import { accepted, done, scriptedRuntime, scriptedSettings, type ScriptedTurn } from './support/scripted-runtime.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { harnessError } from '../src/harnesses/foreign/turn-endings.ts';
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { openRelay } from '../src/harnesses/relay/relay.ts';
import { openStoreOf } from './support/rows.ts';
import { providerError } from '../src/harnesses/foreign/provider-error.ts';
import { silentLogger } from '../src/core/logger.ts';
import { simpleText } from '../src/testing/model-servers/reply-script.ts';
import { startModelServer } from '../src/testing/model-servers/model-server.ts';
import { startServer } from './support/server.ts';
import { systemClock, systemRandom } from '../src/system.ts';
import { tmpdir } from 'node:os';
import type { LeaseBudget } from '../src/harnesses/relay/run-meter.ts';
import type { NativeFact } from '../src/harnesses/foreign/native-fact.ts';
import type { RelayFact } from '../src/harnesses/relay/relay-fact.ts';
import type { RunEvent } from '../src/core/run-event.ts';
import type { RunId } from '../src/core/ids.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function rig(script: (turn: ScriptedTurn) => Promise<void>, leaseBudget?: Partial<LeaseBudget>) {
  const data = mkdtempSync(join(tmpdir(), 'reins-relay-'));
  const reply = { ...simpleText('Hi'), usage: { inputTokens: 11, outputTokens: 7 } };
  const model = await startModelServer('openai-chat', () => reply);
  const relay = await openRelay({
    upstreams: { openai: { baseURL: model.baseURL, apiKey: 'key' } },
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  const budget = { dollars: null, tokens: null, requests: null, ...leaseBudget };
  const runtime = scriptedRuntime(data, script, { relay, leaseBudget: budget });
  const server = await startServer({ data, settings: scriptedSettings, adapters: [runtime.adapter] });
  cleanups.push(
    () => rmSync(data, { recursive: true, force: true }),
    () => model.close(),
    () => relay[Symbol.asyncDispose](),
    () => runtime.adapter[Symbol.asyncDispose](),
    () => server[Symbol.asyncDispose](),
  );
  return {
    uhp: server.uhp,
    runtime,
    model,
    async logOf(id: unknown): Promise<readonly RunEvent[]> {
      await using store = await openStoreOf(data);
      const events = await store.readEvents(id as RunId, { after: 0, limit: 10_000 });
      expect(checkLog(events)).toEqual([]);
      return events;
    },
  };
}

/** A model call of the agent, or of a tool that has found the lease. */
async function call({ opened: { lease } }: ScriptedTurn, model = 'test-model'): Promise<number> {
  const response = await fetch(`${lease.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${lease.token}` },
    body: JSON.stringify({ model, stream: true, messages: [] }),
  });
  await response.text();
  return response.status;
}

const said: readonly NativeFact[] = [{ is: 'reply-begun' }, { is: 'text', key: 't', text: 'Hi' }];
const round: readonly NativeFact[] = [
  ...said,
  { is: 'call-whole', call: { id: 'c', name: 'look', input: {} } },
  accepted('tool-use'),
  { is: 'call-ended', id: 'c', outcome: 'ok', content: 'seen' },
];
/** As adapters end a turn whose model call the relay has refused. */
const refusedBy = (type: string): NativeFact => ({
  is: 'ended',
  end: { as: 'failed', error: providerError({ status: null, type, message: 'Refused.' }) },
});
const usageOf = (events: readonly RunEvent[], type: 'turn-complete' | 'step-finished') =>
  events.flatMap((event) => (event.type === type && 'usage' in event.data ? [event.data.usage?.inputTokens] : []));

test('H-206: a call that no step owns counts in the task, and in no reply', async () => {
  const { uhp, logOf } = await rig(async (turn) => {
    await Promise.all([call(turn), call(turn)]); // a title beside the reply
    turn.say(...said, accepted(), done);
  });
  const { body } = await uhp.create({ input: 'Go' });
  expect(body).toMatchObject({ status: 'completed', usage: { input_tokens: 22, output_tokens: 14 } });
  const events = await logOf(body.id);
  expect([usageOf(events, 'turn-complete'), usageOf(events, 'step-finished')]).toEqual([[11], [22]]);
});

test('H-206: so does what was used by a task that failed before its first reply', async () => {
  const { uhp, logOf } = await rig(async (turn) => {
    await call(turn);
    turn.say({ is: 'ended', end: { as: 'failed', error: providerError({ status: 400, type: null, message: '' }) } });
  });
  const { body } = await uhp.create({ input: 'Go' });
  expect(body).toMatchObject({ status: 'failed', usage: { input_tokens: 11, output_tokens: 7 } });
  await logOf(body.id);
});

test('H-031: what the relay counts is the same that the agent tells: nothing is counted twice, in the next task neither', async () => {
  const { uhp } = await rig(async (turn) => {
    await call(turn);
    turn.say(...said, accepted(), done);
  });
  const { body } = await uhp.create({ input: 'Go' });
  const next = await uhp.create({ input: 'On', previous_response_id: body.id });
  for (const { usage } of [body, next.body]) expect(usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
});

test.each([
  [{ requests: 1 }, {}, 'max_step', 'steps'],
  [{ tokens: 18 }, {}, 'reins_max_total_tokens', 'tokens'],
  [{ dollars: 0.000_1 }, {}, 'reins_max_cost', 'cost'],
  [{}, { max_output_tokens: 7 }, 'max_output_tokens', 'output-tokens'],
] as const)(
  'H-200, H-204: a call over the budget %o %o is refused with 400, and ends the task as that and not as a failure',
  async (budget, request, reason, name) => {
    const statuses: number[] = [];
    const { uhp, model, logOf } = await rig(async (turn) => {
      statuses.push(await call(turn), await call(turn));
      turn.say(...said, refusedBy('reins_budget'));
    }, budget);
    const { body } = await uhp.create({ input: 'Go', ...request });
    expect(statuses).toEqual([200, 400]);
    expect(model.requests).toHaveLength(1);
    expect(body).toMatchObject({ status: 'incomplete', incomplete_details: { reason }, error: null });
    const reached = (await logOf(body.id)).find(({ type }) => type === 'budget-reached');
    expect(reached?.data).toMatchObject({ budget: name, then: 'stop' });
  },
);

test('H-200: an agent that goes on after a refused call is stopped after its reply; the next task has a budget of its own', async () => {
  const statuses: number[] = [];
  const { uhp } = await rig(
    async (turn) => {
      statuses.push(await call(turn));
      turn.say(...round);
      if (turn.input !== 'Go') return turn.say(...said, accepted(), done);
      statuses.push(await call(turn));
      turn.say(...round);
      await turn.interrupted;
      turn.say({ is: 'ended', end: { as: 'interrupted' } });
    },
    { requests: 1 },
  );
  const { body } = await uhp.create({ input: 'Go' });
  expect(body).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_step' } });
  const next = await uhp.create({ input: 'On', previous_response_id: body.id });
  expect(next.body).toMatchObject({ status: 'completed' });
  expect(statuses).toEqual([200, 400, 200]);
});

test('H-200: a model that is not the session’s is refused and recorded, and a task that ends by it says so', async () => {
  const facts: RelayFact[] = [];
  const { uhp, model } = await rig(async (turn) => {
    turn.opened.lease.onFact((fact) => facts.push(fact));
    expect(await call(turn, 'dear-model')).toBe(400);
    turn.say(...said, refusedBy('reins_model'));
  });
  const { body } = await uhp.create({ input: 'Go' });
  expect(model.requests).toHaveLength(0);
  expect(facts).toMatchObject([
    { at: 'asked', model: 'dear-model' },
    { at: 'ended', how: 'refused', error: { type: 'reins_model' } },
  ]);
  const message = 'The agent asked for a model that its session may not use.';
  expect(body).toMatchObject({ status: 'failed', error: { code: 'harness_error', message } });
});

test('H-112: an agent that calls its model again and again is cut off; the next task has a process of its own, which nothing of that ends', async () => {
  const statuses: number[] = [];
  const { uhp, runtime } = await rig(async (turn) => {
    if (turn.input === 'run away') {
      while (statuses.at(-1) !== 400) statuses.push(await call(turn));
      return turn.say({ is: 'ended', end: { as: 'failed', error: harnessError('Refused.') } });
    }
    turn.say({ is: 'reply-begun' });
    // Longer than one that was cut off is left to say its last word.
    for (let beat = 0; beat < 4; beat++) {
      await Promise.race([turn.interrupted, new Promise((resolve) => setTimeout(resolve, 1_300))]);
      turn.say({ is: 'progress' });
    }
    statuses.push(await call(turn));
    turn.say(...said.slice(1), accepted(), done);
  });
  const { body: first } = await uhp.create({ input: 'run away' });
  expect([first.status, statuses.length]).toEqual(['failed', 31]);
  const { body: second } = await uhp.create({ input: 'work', previous_response_id: first.id });
  expect([second.status, statuses.at(-1)]).toEqual(['completed', 200]);
  expect([runtime.opened.length, runtime.stopped]).toEqual([2, 1]);
}, 15_000);
