// Messages of people while a run is at work: E-660 to E-665, from the engine's side.

import { describe, expect, test } from 'vitest';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig, type EngineRigOptions } from '../testing/engine-rig.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { StopTurn } from '../core/stop-turn.ts';
import type { RunEventType } from '../core/run-event.ts';

const done = simpleText('Done.');
const tools = [countingTool('add')];
/** Roles of a request, and its user texts. */
const request = (rig: EngineRig, index: number) =>
  rig.model.calls[index]?.prompt.map((message) =>
    message.role === 'user' ? JSON.stringify(message.content) : message.role,
  ) ?? [];

/** A run in which somebody speaks after the first event of a type. */
async function steerAfter(type: RunEventType, options: Partial<EngineRigOptions> = {}) {
  const rig = createEngineRig({
    replies: [simpleCall('a', 'add', {}), done, simpleText('As you wish.')],
    tools,
    ...options,
  });
  let spoken = false;
  const result = await rig.run({
    onEvent(event) {
      if (spoken || event.type !== type) return;
      spoken = true;
      rig.say('Stop adding.', 'm1');
    },
  });
  return { rig, result };
}

describe('E-660: a message is in the log at once, and read in the next step', () => {
  test.each(['step-started', 'tool-call-delta', 'turn-complete', 'tool-dispatched', 'tool-call-complete'] as const)(
    'after %s: it stands after all tool results of the open step',
    async (type) => {
      const { rig, result } = await steerAfter(type);
      expect(result).toMatchObject({ status: 'completed', output: 'Done.', undelivered: [], steps: 2 });
      expect(request(rig, 1)).toEqual([
        expect.stringContaining('Go.'),
        'assistant',
        'tool',
        expect.stringContaining('Stop adding.'),
      ]);
    },
  );

  test('E-662: it interrupts neither a call nor a tool', async () => {
    const { rig } = await steerAfter('tool-call-delta');
    expect(rig.events('attempt-reset')).toEqual([]);
    expect(rig.events('tool-call-complete')[0]?.data.outcome).toBe('ok');
  });

  test('E-662: the same id twice is one message', async () => {
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools });
    await rig.run({
      onEvent: ({ type }) => void (type === 'tool-dispatched' && [1, 2].forEach(() => rig.say('Once.', 'same'))),
    });
    expect(rig.events('user-message')).toHaveLength(1);
    expect(JSON.stringify(rig.model.calls[1]?.prompt).split('Once.')).toHaveLength(2);
  });
});

describe('E-661: after the last reply and before the result, a message opens another step', () => {
  test.each(['text-delta', 'turn-complete', 'step-finished'] as const)(
    'said after the %s of a whole answer',
    async (type) => {
      const { rig, result } = await steerAfter(type, { replies: [done, simpleText('As you wish.')] });
      expect(result).toMatchObject({ status: 'completed', output: 'As you wish.', steps: 2, undelivered: [] });
      expect(request(rig, 1)).toEqual([
        expect.stringContaining('Go.'),
        'assistant',
        expect.stringContaining('Stop adding.'),
      ]);
    },
  );

  test('the same after a refusal: the engine asks nothing again, but somebody has spoken', async () => {
    const refusal = { ...simpleText('No.'), finish: 'content-filter', rawFinish: 'refusal' } as const;
    const { result } = await steerAfter('step-finished', { replies: [refusal, simpleText('Then yes.')] });
    expect(result).toMatchObject({ status: 'completed', stopReason: 'end-turn', output: 'Then yes.' });
  });

  test('after the result it is refused: never neither', async () => {
    const rig = createEngineRig({ replies: [done] });
    await rig.run();
    expect(() => rig.say('Too late.')).toThrow('ended');
    expect(rig.events('user-message')).toEqual([]);
  });
});

describe('E-665: what no step has read is named', () => {
  test('in the result of a run that a budget ends', async () => {
    const { result } = await steerAfter('tool-dispatched', {
      limits: { maxTotalTokens: 1 },
      replies: [{ ...simpleCall('a', 'add', {}), usage: { inputTokens: 5, outputTokens: 5 } }],
    });
    expect(result).toMatchObject({ status: 'completed', stopReason: 'max-total-tokens', undelivered: ['m1'] });
  });

  test('in the result of a run that is cancelled', async () => {
    const rig = createEngineRig({ replies: [done] });
    const result = await rig.run({
      onEvent({ type }) {
        if (type !== 'text-delta') return;
        rig.say('Hello?', 'm1');
        rig.stop.abort(new StopTurn('cancel'));
      },
    });
    expect(result).toMatchObject({ status: 'cancelled', undelivered: ['m1'] });
  });

  test('a message that a later attempt of the same step could have read waits for the next one', async () => {
    const lost = { ...simpleText('a', 'b'), fault: { kind: 'cut', after: 1 } } as const;
    const { rig, result } = await steerAfter('text-delta', { replies: [lost, done, simpleText('As you wish.')] });
    expect(result).toMatchObject({ steps: 2, output: 'As you wish.' });
    expect(request(rig, 1)).toEqual(request(rig, 0));
  });
});

test('E-661: a run that fails while somebody speaks has failed, and asks no more', async () => {
  const refused: ScriptedReply = {
    ...simpleText('a', 'b'),
    fault: { kind: 'error-event', after: 1, type: 'invalid_request_error', message: 'No.' },
  };
  const { rig, result } = await steerAfter('text-delta', { replies: [refused, done] });
  expect(result).toMatchObject({ status: 'failed', undelivered: ['m1'], partialOutput: 'a' });
  expect(rig.model.calls).toHaveLength(1);
});

describe('E-665: while the run is parked', () => {
  const park = async () => {
    const gated = countingTool('add', { permission: 'ask' });
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [gated] });
    await rig.run();
    rig.say('Mind the gap.', 'm1');
    return { rig, gated };
  };

  test('a message decides nothing', async () => {
    const { rig, gated } = await park();
    expect(await rig.recover()).toMatchObject({ status: 'awaiting-input' });
    expect(gated.runs).toEqual([]);
  });

  test('it is read after the decision, behind the results', async () => {
    const { rig } = await park();
    rig.decide('a', { decision: 'approve' });
    expect(await rig.resume()).toMatchObject({ status: 'completed', undelivered: [] });
    expect(request(rig, 1).slice(1)).toEqual(['assistant', 'tool', expect.stringContaining('Mind the gap.')]);
  });
});
