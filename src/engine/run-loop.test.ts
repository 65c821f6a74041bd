// The driver's contract with its consumer: D1 to D4 of `run-loop.ts`.

import { describe, expect, test } from 'vitest';
import { once } from 'node:events';
import { ConfigurationError, DamageError, StorageError } from '../core/errors.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createModelHealth } from './model-health.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { createLogBuilder } from '../testing/log-builder.ts';
import { defaultPolicies } from './policies.ts';
import { evolve, initialRunState } from '../core/run-state.ts';
import { runLoop } from './run-loop.ts';
import { silentLogger } from '../core/logger.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { StopTurn } from '../core/stop-turn.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';

const done = simpleText('Done.');
const onIt: ScriptedReply = {
  pieces: [...(simpleText('On it.').pieces ?? []), ...(simpleCall('a', 'add', {}).pieces ?? [])],
};

test('E-100, D1: what it yields has no number, and a consumer that answers nothing took each group as it is', async () => {
  const clock = createManualClock();
  const model = createScriptedModel([simpleCall('a', 'add', {}), done], { clock });
  const builder = createLogBuilder();
  builder.start();
  const groups = runLoop(
    {
      clock,
      random: { fraction: () => 0, token: () => 'token' },
      logger: silentLogger,
      policies: defaultPolicies,
      tools: [countingTool('add')],
      content: { putContent: () => expect.unreachable(), content: async () => null },
      health: createModelHealth({ clock }),
      openModel: async () => ({ model, traits: {}, maxOutputTokens: null }),
    },
    { state: builder.state, history: [], workspace: '/', signal: new AbortController().signal, recovering: false },
  );
  const drafts: EventDraft[] = [];
  for await (const group of groups) drafts.push(...group);
  expect(drafts.at(-1)).toMatchObject({ type: 'run-result', data: { status: 'completed', output: 'Done.' } });
  for (const draft of drafts)
    for (const field of ['seq', 'at', 'leg', 'runId', 'v']) expect(draft).not.toHaveProperty(field);
});

describe('D2, E-661: an ending that the log did not take is no ending', () => {
  const overtake = async (rig: EngineRig, type: RunEvent['type'], stop?: 'cancel') => {
    let spoken = false;
    return rig.run({
      onEvent(event) {
        if (spoken || event.type !== type) return;
        spoken = true;
        rig.say('Wait.', 'm1');
        if (stop !== undefined) rig.stop.abort(new StopTurn(stop));
      },
    });
  };

  test('a completed run goes on', async () => {
    const rig = createEngineRig({ replies: [done, simpleText('Waited.')] });
    expect(await overtake(rig, 'step-finished')).toMatchObject({ output: 'Waited.', steps: 2 });
    expect(rig.events('run-result')).toHaveLength(1);
  });

  test('a park and a cancel are written again, with what was said', async () => {
    const parked = createEngineRig({
      replies: [simpleCall('a', 'add', {})],
      tools: [countingTool('add', { permission: 'ask' })],
    });
    expect(await overtake(parked, 'approval-required')).toMatchObject({
      status: 'awaiting-input',
      undelivered: ['m1'],
    });
    const cancelled = createEngineRig({ replies: [done] });
    expect(await overtake(cancelled, 'text-delta', 'cancel')).toMatchObject({
      status: 'cancelled',
      undelivered: ['m1'],
    });
  });
});

const raise = (error: Error): never => {
  throw error;
};

describe('D4: whatever throws below is the failure of the run, which has one result', () => {
  test.each([
    [
      'a model that cannot be served',
      { openModel: () => Promise.reject(new ConfigurationError('No such model.')) },
      'AgentUnavailableError',
      'No such model.',
    ],
    [
      'a middleware before a model',
      { middleware: [{ beforeModel: () => Promise.reject(new Error('secret')) }] },
      'HarnessError',
      'A middleware of this agent failed (beforeModel).',
    ],
    [
      'a middleware before a tool',
      { middleware: [{ beforeTool: () => Promise.reject(new Error('secret')) }] },
      'HarnessError',
      'A middleware of this agent failed (beforeTool).',
    ],
    [
      'a transform',
      { middleware: [{ transform: () => raise(new Error('secret')) }] },
      'HarnessError',
      'A middleware of this agent failed (transform).',
    ],
    [
      'a store',
      { openModel: () => Promise.reject(new StorageError('secret')) },
      'StorageError',
      'The store could not read or write what this run needs.',
    ],
    ['anything else', { openModel: () => Promise.reject(new Error('secret')) }, 'HarnessError', 'unexpected fault'],
  ] as const)('E-070: %s', async (_, parts, type, message) => {
    const rig = createEngineRig({ replies: [onIt], tools: [countingTool('add')], parts });
    expect(await rig.run()).toMatchObject({
      status: 'failed',
      error: { type, message: expect.stringContaining(message) },
    });
    expect(rig.events('run-result')).toHaveLength(1);
    expect(JSON.stringify(rig.log)).not.toContain('secret');
  });
});

test('E-826: where somebody goes on from the log, a store that is away ends no run; one that is damaged does', async () => {
  const run = (cause: Error) => {
    const parts = { openModel: () => Promise.reject(cause) };
    return createEngineRig({ replies: [onIt], tools: [], parts }).run({ leavesOutages: true });
  };
  await expect(run(new StorageError('Away.'))).rejects.toThrow('Away.');
  expect(await run(new DamageError('Torn.'))).toMatchObject({ status: 'failed', error: { type: 'StorageError' } });
});

test('E-005: an event of a newer version changes nothing', () => {
  const builder = createLogBuilder();
  builder.start();
  const unknown = { ...builder.events[0], seq: 2, type: 'something-new', data: { a: 1 } } as unknown as RunEvent;
  expect(evolve(builder.state, unknown)).toBe(builder.state);
  expect(evolve(initialRunState(builder.state.runId, builder.state.sessionId), unknown)).toMatchObject({ leg: 0 });
});

test('E-564, E-425: however a run ends, each open call has its start, completion and answer, and the step its end', async () => {
  const calls = {
    pieces: ['1', '2', '3'].map((id) => ({ kind: 'tool-call', id, name: 'add', arguments: [`{"n":${id}}`] }) as const),
  };
  const endings: Record<string, (rig: EngineRig) => void> = {
    cancelled: (rig) => rig.stop.abort(new StopTurn('cancel')),
    'max-time': (rig) => rig.stop.abort(new StopTurn('time')),
  };
  for (const [name, end] of Object.entries(endings)) {
    const tool = countingTool('add', {
      concurrent: false,
      async run(_, { signal }) {
        if (rig.events('tool-dispatched').length < 2) return { content: 'ok' };
        end(rig);
        await once(signal, 'abort');
        return { content: 'half' };
      },
    });
    const rig: EngineRig = createEngineRig({ replies: [calls], tools: [tool] });
    expect(await rig.run(), name).toMatchObject({ stopReason: name });
    expect(Object.keys(rig.answers()), name).toEqual(['1', '2', '3']);
    expect(rig.events('tool-call-complete').map(({ data }) => data.outcome)).toEqual([
      'ok',
      'unknown',
      name === 'cancelled' ? 'cancelled' : 'not-run',
    ]);
    expect(rig.events('step-finished')).toHaveLength(1);
  }
});
