import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { checkLog } from '../testing/check-log.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { StopTurn } from '../core/stop-turn.ts';
import { viewOf, withoutPlace } from '../core/transcript.ts';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Message } from '../core/transcript.ts';
import type { ModelRequest } from './model.ts';
import type { Tool } from './tool.ts';

/** What is wrong with the calls of a request: each has one result, right behind it, and no other result is there. */
function callFaults(prompt: LanguageModelV4Prompt): readonly string[] {
  return prompt.flatMap((message, index) => {
    const after = prompt[index + 1];
    if (message.role === 'tool' && prompt[index - 1]?.role !== 'assistant') return ['results behind no reply'];
    if (message.role !== 'assistant') return [];
    const asked = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []));
    const given = (after?.role === 'tool' ? after.content : []).map((part) =>
      'toolCallId' in part ? part.toolCallId : '',
    );
    return asked.join() === given.join() ? [] : [`calls ${asked.join()}, results ${given.join()}`];
  });
}

const stubs = (prompt: LanguageModelV4Prompt) => JSON.stringify(prompt).includes('This call has no recorded result.');

const isSummary = ({ prompt }: ModelRequest) => JSON.stringify(prompt[1] ?? '').includes('<conversation>');

const said = (byUser: boolean, text: string): Message =>
  byUser ? { role: 'user', content: [{ type: 'text', text }] } : { role: 'assistant', parts: [{ kind: 'text', text }] };

/** A model that works by this script, whenever it is asked for a summary. */
function modelOf(replies: readonly ScriptedReply[]): (request: ModelRequest) => ScriptedReply {
  let asked = 0;
  return (request) => (isSummary(request) ? simpleText('In short.') : (replies[asked++] ?? simpleText('Done.')));
}

const tools: readonly Tool[] = ['safe', 'manual'].map((replay) => ({
  name: `${replay}_tool`,
  description: replay,
  inputSchema: { type: 'object' },
  useKind: 'readonly',
  replay: replay === 'safe' ? 'safe' : 'manual',
  run: async (input) => ({ content: 'x'.repeat((input as { size: number }).size) }),
}));

const call = fc.record({
  name: fc.constantFrom('safe_tool', 'manual_tool', 'no_such_tool'),
  size: fc.nat(8000),
  broken: fc.boolean(),
});
const working = fc.array(call, { minLength: 1, maxLength: 3 }).map((all): ScriptedReply => ({
  pieces: all.map(({ name, size, broken }, index) => ({
    kind: 'tool-call',
    id: `call_${index}`,
    name,
    arguments: [broken ? '{"size":' : `{"size":${size}}`],
  })),
}));
const faulty = fc
  .tuple(working, fc.constantFrom('cut', 'error-event', 'no-end-mark'))
  .map(([reply, kind]): ScriptedReply => ({ ...reply, fault: { kind, after: 1 } }));
const clipped = working.map((reply): ScriptedReply => ({ ...reply, finish: 'length' }));
const tooLong = fc.constant<ScriptedReply>({
  fault: {
    kind: 'status',
    status: 400,
    type: 'invalid_request_error',
    message: 'prompt is too long: 9 tokens > 8 maximum',
  },
});
const replies = fc.array(fc.oneof({ arbitrary: working, weight: 8 }, faulty, clipped, tooLong), {
  minLength: 2,
  maxLength: 8,
});

function createRig(script: readonly ScriptedReply[], maxContextTokens: number | null): EngineRig {
  return createEngineRig({ replies: modelOf(script), tools, limits: { maxContextTokens } });
}

describe('E-565, B091: in every request of a run each call has exactly one result', () => {
  test('whatever the model does, wherever somebody speaks or stops the run, with and without compaction', async () => {
    const when = fc.option(fc.nat(100), { freq: 1 });
    const limit = fc.option(fc.integer({ min: 1500, max: 5000 }), { freq: 2 });
    await fc.assert(
      fc.asyncProperty(replies, limit, fc.record({ said: when, stopped: when }), async (script, most, at) => {
        const rig = createRig(script, most);
        let seen = 0;
        await rig.run({
          onEvent: () => {
            if (seen === at.said && rig.state().result === null) rig.say('Another thing.');
            if (seen === at.stopped) rig.stop.abort(new StopTurn('cancel'));
            seen++;
          },
        });
        expect(checkLog(rig.log)).toEqual([]);
        for (const { prompt } of rig.model.calls) {
          expect(callFaults(prompt)).toEqual([]);
          expect(stubs(prompt)).toBe(false);
        }
        const history = viewOf(rig.state().transcript, []).map(withoutPlace);
        const next = createEngineRig({ replies: [simpleText('Hello again.')], tools, history });
        await next.run();
        for (const { prompt } of next.model.calls) {
          expect(callFaults(prompt)).toEqual([]);
          expect(stubs(prompt)).toBe(false);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('compaction in a run', () => {
  const steps = Array.from({ length: 6 }, (_, index) => simpleCall(`c${index}`, 'safe_tool', { size: 6000 }));

  test('E-440, E-442: a request above the limit is shortened before it is sent, and the run goes on from the summary', async () => {
    const rig = createRig(steps, 5000);
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'Done.' });
    const changes = rig.log.flatMap((event) => (event.type === 'compacted' ? [event.data] : []));
    expect(changes[0]).toMatchObject({ trigger: 'auto', method: 'summary', summary: 'In short.' });
    const last = rig.model.calls.at(-1)?.prompt ?? [];
    expect(JSON.stringify(last)).toContain('In short.');
    expect(JSON.stringify(last)).toContain('Go.');
    for (const { prompt } of rig.model.calls) expect(JSON.stringify(prompt).length / 4).toBeLessThan(6500);
    expect(checkLog(rig.log)).toEqual([]);
  });

  test('K5, E-062: what tries for a summary have used is billed, those in vain included', async () => {
    const used = (inputTokens: number) => ({ usage: { inputTokens, outputTokens: 1 } });
    const tries = [
      { ...simpleText('lost'), fault: { kind: 'cut', after: 1 } } as const,
      { ...simpleText('word '.repeat(9000)), ...used(700) },
    ];
    const rig = createEngineRig({
      replies: (request) => (isSummary(request) ? tries.shift() : undefined) ?? { ...simpleText('Done.'), ...used(10) },
      history: ['user', 'assistant', 'user', 'assistant'].map((role) => said(role === 'user', 'word '.repeat(300))),
      limits: { maxContextTokens: 900 },
    });
    const result = await rig.run();
    const [change] = rig.events('compacted');
    expect(change?.data).toMatchObject({ method: 'trim', usage: { inputTokens: 700 }, usageIncomplete: true });
    expect(result).toMatchObject({ usage: { inputTokens: 710 }, usageIncomplete: true });
  });

  test('E-440: a request that was too long is shortened and sent again; with nothing left to shorten the run fails', async () => {
    const tooLongOnce: ScriptedReply = {
      fault: {
        kind: 'status',
        status: 400,
        type: 'invalid_request_error',
        message: 'prompt is too long: 9 tokens > 8 maximum',
      },
    };
    const rig = createRig([...steps, tooLongOnce], null);
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'Done.' });
    const reset = rig.log.find((event) => event.type === 'attempt-reset');
    expect(reset?.data).toMatchObject({ reason: 'context-overflow' });
    expect(checkLog(rig.log)).toEqual([]);
    const hopeless = createRig([tooLongOnce], null);
    expect(await hopeless.run()).toMatchObject({ status: 'failed', error: { type: 'ContextOverflowError' } });
  });
});
