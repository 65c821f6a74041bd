import { describe, expect, test } from 'vitest';
import { defineTool } from '../engine/define-tool.ts';
import { simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { collect, scriptedAgent } from '../../test/support/agents.ts';
import type { TextReset } from './text-stream.ts';

const noInput = { type: 'object', properties: {} } as const;
const tools = [defineTool({ name: 'tool', description: 'A tool.', input: noInput, run: () => 'Secret result.' })];
const fast = { retry: { backoffSeconds: 0 } };

const thinkThenCall: ScriptedReply = {
  pieces: [
    { kind: 'thinking', chunks: ['Hm. '] },
    { kind: 'text', chunks: ['Let me ', 'look. '] },
    { kind: 'tool-call', id: 'c', name: 'tool', arguments: ['{', '}'] },
  ],
};
const cutAfter = (after: number, ...chunks: string[]): ScriptedReply => ({
  pieces: [{ kind: 'text', chunks }],
  fault: { kind: 'cut', after },
});

test('E-037: the text of all turns as it comes, without separators, thinking, calls or results', async () => {
  await using rig = scriptedAgent([thinkThenCall, simpleText('It is ', 'there.')], { tools });
  const chunks = await collect(rig.agent.streamText('Look'));
  expect(chunks).toEqual(['Let me ', 'look. ', 'It is ', 'there.']);
});

describe('E-038: a reset', () => {
  test('tells what stays valid, so that kept and what follows is the text of all turns', async () => {
    await using rig = scriptedAgent([thinkThenCall, cutAfter(2, 'It is', ' not'), simpleText('It is', ' there.')], {
      tools,
      config: fast,
    });
    const resets: TextReset[] = [];
    let shown = '';
    const text = rig.agent.streamText('Look', {
      onReset(reset) {
        resets.push(reset);
        shown = reset.kept;
      },
    });
    for await (const chunk of text) shown += chunk;
    expect(shown).toBe('Let me look. It is there.');
    expect(resets).toEqual([{ step: 2, attempt: 1, reason: 'transient-error', shown: true, kept: 'Let me look. ' }]);
  });

  test('without a callback the answer starts over in the stream', async () => {
    await using rig = scriptedAgent([cutAfter(1, 'One', ' two'), simpleText('One two')], { config: fast });
    expect((await collect(rig.agent.streamText('Count'))).join('|')).toBe('One|One two');
  });

  test('a reply that is gone on with behind its token limit is none', async () => {
    await using rig = scriptedAgent([{ ...simpleText('One, ', 'tw'), finish: 'length' }, simpleText('o, three.')]);
    const resets: TextReset[] = [];
    const stream = rig.agent.runStream('Count');
    const text = (await collect(stream.text({ onReset: (reset) => resets.push(reset) }))).join('');
    expect([text, resets]).toEqual(['One, two, three.', []]);
    expect((await stream.result()).output).toBe(text);
  });
});

describe('E-039: without a whole answer the loop ends with an error that holds the result', () => {
  const refused = { pieces: [], finish: 'content-filter' } as const;
  const rows: readonly (readonly [string, ScriptedReply, object, object])[] = [
    ['RunFailed', { fault: { kind: 'status', status: 400 } }, {}, { error: { type: 'ProviderError' } }],
    ['RunTruncated', { ...simpleText('Half'), finish: 'length' }, { limits: { maxTruncationRecoveries: 0 } }, {}],
    ['RunRefused', refused, {}, {}],
    ['RunAwaitingInput', thinkThenCall, { approvals: { direct: 'park' }, toolPermissions: { tool: 'ask' } }, {}],
    ['RunLimitReached', thinkThenCall, { limits: { maxSteps: 1 } }, { limit: 'max-steps' }],
  ];
  test.each(rows)('%s', async (type, reply, config, facts) => {
    await using rig = scriptedAgent((_, index) => (index === 1 ? simpleText('Out of steps.') : reply), {
      config,
      tools,
    });
    const text = rig.agent.streamText('Go');
    await expect(collect(text)).rejects.toMatchObject({ type, result: { runId: expect.any(String) }, ...facts });
  });

  test('RunCancelled, also where it was text() of a stream', async () => {
    await using rig = scriptedAgent([simpleText('Hello')]);
    const text = rig.agent.runStream('Hi', { signal: AbortSignal.abort() }).text();
    await expect(collect(text)).rejects.toMatchObject({ type: 'RunCancelled' });
  });
});

test('E-032: breaking out of the text cancels the run', async () => {
  await using rig = scriptedAgent([{ ...simpleText('a\nb', 'c'), fault: { kind: 'stall', after: 1 } }]);
  const stream = rig.agent.runStream('Go');
  let text = '';
  for await (const chunk of stream.text()) {
    text += chunk;
    if (text.includes('\n')) break;
  }
  expect([text.split('\n')[0], (await stream.result()).status]).toEqual(['a', 'cancelled']);
});

test('E-113: with a middleware that sees whole replies the text comes once, processed', async () => {
  await using rig = scriptedAgent([simpleText('my ', 'secret')], {
    middleware: [{ afterModel: (reply) => ({ ...reply, text: reply.text.replace('secret', 'word') }) }],
  });
  const events = await collect(rig.agent.runStream('Say'));
  expect(events.filter(({ type }) => type === 'text-delta').map(({ data }) => data)).toEqual(['my word']);
  expect(JSON.stringify(events)).not.toContain('secret');
});
