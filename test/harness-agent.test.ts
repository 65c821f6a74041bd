// Agents of ours under the real `HarnessAgent` of the AI SDK (P-080 to P-082, P-119).

import { defineTool, type ToolContext } from '../src/index.ts';
import { beforeEach, describe, expect, test } from 'vitest';
import { hostAgent } from './support/harness-agent.ts';
import { createScriptedModel, simpleText, type ScriptedReply } from '../src/testing/index.ts';
import type { ReplyPiece } from '../src/testing/model-servers/reply-script.ts';
import { convertToModelMessages, readUIMessageStream, tool, type UIMessage, type UIMessageChunk } from 'ai';
import { HARNESS_V1_BUILTIN_TOOLS } from '@ai-sdk/harness';
import { z } from 'zod';

const call = (id: string, name: string, input: object = {}): ReplyPiece => ({
  kind: 'tool-call',
  id,
  name,
  arguments: [JSON.stringify(input)],
});
const calling = (...pieces: readonly ReplyPiece[]): ScriptedReply => ({ pieces });

test('a whole turn: text, steps, usage and the reason it ended', async () => {
  const { agent, session } = hostAgent([
    { ...simpleText('Good morning.'), usage: { inputTokens: 3, outputTokens: 2 } },
  ]);
  const result = await agent.stream({ session: await session(), prompt: 'Hello.' });
  const types: string[] = [];
  for await (const part of result.fullStream) types.push(part.type);
  expect(await result.text).toBe('Good morning.');
  expect(await result.finishReason).toBe('stop');
  expect(await result.usage).toMatchObject({ inputTokens: 3, outputTokens: 2 });
  expect((await result.steps).length).toBe(1);
  expect(types.filter((type) => type !== 'raw')).toEqual([
    'start',
    'start-step',
    'text-start',
    'text-delta',
    'text-end',
    'finish-step',
    'finish',
  ]);
});

test('the second turn of a session knows the first', async () => {
  const { agent, session, model } = hostAgent([simpleText('Noted.'), simpleText('It was 7.')]);
  const open = await session();
  await agent.generate({ session: open, prompt: 'The number is 7.' });
  expect((await agent.generate({ session: open, prompt: 'Which?' })).text).toBe('It was 7.');
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('The number is 7.');
});

test('a tool of the host is run by the host, and its output stays what it was', async () => {
  const { agent, session, model } = hostAgent(
    [calling(call('a', 'weather', { city: 'Bern' })), simpleText('It rains.')],
    {
      tools: {
        weather: tool({
          inputSchema: z.object({ city: z.string() }),
          execute: async ({ city }) => ({ city, rain: true }),
        }),
      },
      instructions: 'Be brief.',
    },
  );
  const result = await agent.generate({ session: await session(), prompt: 'Weather?' });
  expect(result.text).toBe('It rains.');
  expect(result.steps.length).toBe(2);
  expect(result.toolResults).toMatchObject([{ toolCallId: 'a', output: { city: 'Bern', rain: true } }]);
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain('Be brief.');
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('{\\"city\\":\\"Bern\\",\\"rain\\":true}');
});

test('two tools of the host in one step run side by side', async () => {
  const both = Promise.withResolvers<void>();
  let running = 0;
  const meet = tool({
    inputSchema: z.object({}),
    async execute() {
      running += 1;
      if (running === 2) both.resolve();
      await both.promise;
      return 'met';
    },
  });
  const { agent, session } = hostAgent([calling(call('a', 'one'), call('b', 'two')), simpleText('Done.')], {
    tools: { one: meet, two: meet },
  });
  expect((await agent.generate({ session: await session(), prompt: 'Meet.' })).text).toBe('Done.');
});

const ran: string[] = [];
const guarded = defineTool({
  name: 'guarded',
  description: 'Leaves a line.',
  input: z.object({ line: z.string() }),
  permission: 'ask',
  run: ({ line }) => {
    ran.push(line);
    return `left ${line}`;
  },
});
beforeEach(() => void ran.splice(0));

/** The reply to approval requests, as callers give it. */
const word = (approvalId: string, approved: boolean, reason?: string) =>
  ({ type: 'tool-approval-response', approvalId, approved, ...(reason === undefined ? {} : { reason }) }) as const;
const requestsIn = (content: readonly { readonly type: string }[]) =>
  content.flatMap((part) => (part.type === 'tool-approval-request' ? [Object(part).approvalId as string] : []));

describe('a call that a person decides on', () => {
  const replies = [calling(call('a', 'guarded', { line: 'x' })), simpleText('So be it.')];

  test.each([true, false])('approved: %s', async (approved) => {
    const { agent, session, model } = hostAgent(replies, { parts: { tools: [guarded] } });
    const open = await session();
    const asked = await agent.generate({ session: open, prompt: 'Leave x.' });
    expect(asked.toolCalls).toMatchObject([{ toolCallId: 'a', toolName: 'guarded', providerExecuted: true }]);
    const [approvalId = ''] = requestsIn(asked.content);
    expect(ran).toEqual([]);
    const result = await agent.continueGenerate({
      session: open,
      toolApprovalContinuations: [word(approvalId, approved, 'Because.')],
    });
    expect(result.text).toBe('So be it.');
    expect(result.finishReason).toBe('stop');
    expect(result.steps.length).toBe(1);
    expect(ran).toEqual(approved ? ['x'] : []);
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain(approved ? 'left x' : 'refused this call. Because.');
    expect(model.calls.length).toBe(2);
    expect(open.hasUnfinishedTurn()).toBe(false);
  });

  test('streamed: the result of the call comes with the rest', async () => {
    const { agent, session } = hostAgent(replies, { parts: { tools: [guarded] } });
    const open = await session();
    const asked = await agent.stream({ session: open, prompt: 'Leave x.' });
    const [approvalId = ''] = requestsIn(await Array.fromAsync(asked.fullStream));
    const rest = await agent.continueStream({ session: open, toolApprovalContinuations: [word(approvalId, true)] });
    const parts = await Array.fromAsync(rest.fullStream);
    expect(parts.filter(({ type }) => type === 'tool-result')).toMatchObject([{ toolCallId: 'a', output: 'left x' }]);
    expect(parts.filter(({ type }) => type === 'tool-call')).toEqual([]);
    expect(await rest.text).toBe('So be it.');
  });

  test('the mode of the host asks for what the agent’s own permissions allow', async () => {
    const edit = defineTool({ ...plain, name: 'mend', useKind: 'edit' });
    const look = defineTool({ ...plain, name: 'look', useKind: 'readonly' });
    const { agent, session } = hostAgent([calling(call('a', 'look')), calling(call('b', 'mend')), simpleText('Ok.')], {
      parts: { tools: [edit, look] },
      permissionMode: 'allow-reads',
    });
    const open = await session();
    const asked = await agent.generate({ session: open, prompt: 'Go.' });
    expect(asked.toolCalls.map(({ toolName }) => toolName)).toEqual(['look', 'mend']);
    const [approvalId = ''] = requestsIn(asked.content);
    const rest = await agent.continueGenerate({ session: open, toolApprovalContinuations: [word(approvalId, true)] });
    expect(rest.text).toBe('Ok.');
  });

  test('two requests of one step are asked and settled one after the other, and each call runs once', async () => {
    const { agent, session } = hostAgent(
      [calling(call('a', 'guarded', { line: 'x' }), call('b', 'guarded', { line: 'y' })), simpleText('Both.')],
      { parts: { tools: [guarded] } },
    );
    const open = await session();
    const first = await agent.generate({ session: open, prompt: 'Leave both.' });
    const [one = ''] = requestsIn(first.content);
    const second = await agent.continueGenerate({ session: open, toolApprovalContinuations: [word(one, true)] });
    const [two = ''] = requestsIn(second.content);
    expect(two).not.toBe(one);
    const rest = await agent.continueGenerate({ session: open, toolApprovalContinuations: [word(two, false)] });
    expect(rest.text).toBe('Both.');
    expect(ran).toEqual(['x']);
  });

  test('beside a tool of the host: that is not asked for before the decision, and runs once', async () => {
    let times = 0;
    const { agent, session } = hostAgent(
      [calling(call('a', 'count'), call('b', 'guarded', { line: 'y' })), simpleText('Both.')],
      {
        parts: { tools: [guarded] },
        tools: { count: tool({ inputSchema: z.object({}), execute: async () => (times += 1) }) },
      },
    );
    const open = await session();
    const asked = await agent.generate({ session: open, prompt: 'Both.' });
    const [one = ''] = requestsIn(asked.content);
    expect(times).toBe(0);
    const rest = await agent.continueGenerate({ session: open, toolApprovalContinuations: [word(one, true)] });
    expect(rest.text).toBe('Both.');
    expect([times, ran]).toEqual([1, ['y']]);
  });

  test('through the messages of a page: approved', async () => {
    const { agent, session } = hostAgent(replies, { parts: { tools: [guarded] } });
    const open = await session();
    const messages = await answeredOnPage(await agent.stream({ session: open, prompt: 'Leave x.' }), true);
    expect((await agent.generate({ session: open, messages })).text).toBe('So be it.');
    expect(ran).toEqual(['x']);
  });

  test('P-100: denied on a page, this host passes nothing on; it is asked again and nothing hangs, and without the result that the page made up, it is denied', async () => {
    const { agent, session } = hostAgent(replies, { parts: { tools: [guarded] } });
    const open = await session();
    const messages = await answeredOnPage(await agent.stream({ session: open, prompt: 'Leave x.' }), false);
    const again = await agent.generate({ session: open, messages });
    expect(requestsIn(again.content).length).toBe(1);
    const mended = messages.map((message) =>
      message.role === 'tool'
        ? { ...message, content: message.content.filter(({ type }) => type !== 'tool-result') }
        : message,
    );
    expect((await agent.generate({ session: open, messages: mended })).text).toBe('So be it.');
    expect(ran).toEqual([]);
  });
});

/** The conversation as a page sends it back once its user has decided. */
async function answeredOnPage(asked: { toUIMessageStream(): unknown }, approved: boolean) {
  const stream = asked.toUIMessageStream() as ReadableStream<UIMessageChunk>;
  let message: UIMessage = { id: 'm', role: 'assistant', parts: [] };
  for await (const next of readUIMessageStream({ stream })) message = next;
  const parts = message.parts.map((part) =>
    'state' in part && part.state === 'approval-requested'
      ? { ...part, state: 'approval-responded' as const, approval: { id: part.approval.id, approved } }
      : part,
  );
  return convertToModelMessages([
    { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Leave x.' }] },
    { ...message, parts },
  ]);
}

const plain = { description: 'Does it.', input: { type: 'object', properties: {} }, run: () => 'done' } as const;

test('tools that the host leaves out are not there, and its skills are', async () => {
  const own = defineTool({ ...plain, name: 'own' });
  const { agent, session, model } = hostAgent(
    [calling(call('a', 'own'), call('b', 'open_skill', { name: 'sums' })), simpleText('Ok.')],
    {
      parts: { tools: [own] },
      inactiveTools: ['own'],
      skills: [{ name: 'sums', description: 'How to add.', content: 'Carry the one.' }],
    },
  );
  await agent.generate({ session: await session(), prompt: 'Go.' });
  expect(model.calls[0]?.tools?.map(({ name }) => name)).toEqual(['open_skill', 'read_tool_result']);
  const read = JSON.stringify(model.calls[1]?.prompt);
  expect([read.includes('Carry the one.'), read.includes('done')]).toEqual([true, false]);
});

test('what a sub-agent asks is asked with its call, and it goes on', async () => {
  const helper = createScriptedModel([calling(call('h', 'guarded', { line: 'deep' })), simpleText('Left.')]);
  const { agent, session } = hostAgent(
    [calling(call('a', 'delegate_helper', { task: 'Leave it.' })), simpleText('Ok.')],
    {
      parts: { subagents: [{ name: 'helper', description: 'Helps.', parts: { provider: helper, tools: [guarded] } }] },
    },
  );
  const open = await session();
  const asked = await agent.generate({ session: open, prompt: 'Go.' });
  expect(asked.toolCalls.map(({ toolName }) => toolName)).toEqual(['delegate_helper', 'guarded']);
  const [approvalId = ''] = requestsIn(asked.content);
  const rest = await agent.continueGenerate({ session: open, toolApprovalContinuations: [word(approvalId, true)] });
  expect([rest.text, ran]).toEqual(['Ok.', ['deep']]);
});

describe('what the host’s own user answers', () => {
  const ask = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, tool({ inputSchema: z.object({}) })]));
  const given = (toolCallId: string, value: string) =>
    ({ type: 'tool-result', toolCallId, toolName: 'x', output: { type: 'text', value } }) as const;

  test('two calls without a handler wait together, and go on with both results', async () => {
    const { agent, session, model } = hostAgent([calling(call('a', 'one'), call('b', 'two')), simpleText('Thanks.')], {
      tools: ask('one', 'two'),
    });
    const open = await session();
    const asked = await agent.generate({ session: open, prompt: 'Ask.' });
    expect(asked.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['a', 'b']);
    const toolResultContinuations = [given('a', 'first'), given('b', 'second')];
    const rest = await agent.continueGenerate({ session: open, toolResultContinuations });
    expect(rest.text).toBe('Thanks.');
    const read = JSON.stringify(model.calls[1]?.prompt);
    expect([read.includes('first'), read.includes('second'), model.calls.length]).toEqual([true, true, 2]);
  });

  test('beside a call of ours: its result is not lost while the host pauses', async () => {
    const own = defineTool({ ...plain, name: 'own' });
    const { agent, session } = hostAgent([calling(call('a', 'own'), call('b', 'two')), simpleText('Thanks.')], {
      parts: { tools: [own] },
      tools: ask('two'),
    });
    const open = await session();
    await agent.generate({ session: open, prompt: 'Ask.' });
    const toolResultContinuations = [given('b', 'second')];
    const rest = await agent.continueStream({ session: open, toolResultContinuations });
    const parts = await Array.fromAsync(rest.fullStream);
    expect(parts.filter(({ type }) => type === 'tool-result')).toMatchObject([{ toolCallId: 'a', output: 'done' }]);
    expect(await rest.text).toBe('Thanks.');
  });

  test('questions are asked in the words of the specification, and answered', async () => {
    const questions = [{ id: 'q', question: 'Which?', options: ['red', 'blue'] }];
    const { agent, session, model, harness } = hostAgent(
      [calling(call('a', 'ask_user_questions', { questions })), simpleText('Blue it is.')],
      { config: { questions: true } },
    );
    expect(Object.keys(harness.builtinTools)).toContain('askUserQuestions');
    const open = await session();
    const asked = await agent.stream({ session: open, prompt: 'Ask.' });
    const parts = await Array.fromAsync(asked.fullStream);
    const [input] = parts.flatMap((part) => (part.type === 'tool-call' ? [part.input] : []));
    expect((HARNESS_V1_BUILTIN_TOOLS.askUserQuestions.inputSchema as z.ZodType).safeParse(input)).toMatchObject({
      data: {
        questions: [
          {
            id: 'q',
            options: [
              { id: 'red', label: 'red' },
              { id: 'blue', label: 'blue' },
            ],
          },
        ],
      },
    });
    const value = { action: 'answered', answers: { q: { optionIds: ['blue'] } } };
    const toolResultContinuations = [
      { type: 'tool-result', toolCallId: 'a', toolName: 'askUserQuestions', output: { type: 'json', value } },
    ] as const;
    const rest = await agent.continueGenerate({ session: open, toolResultContinuations });
    expect(rest.text).toBe('Blue it is.');
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('[q] Which?\\n- blue');
  });

  test('P-066: input that does not fit never reaches the host’s tool, and the model is told', async () => {
    let times = 0;
    const { agent, session, model } = hostAgent([calling(call('a', 'count', { n: 'many' })), simpleText('Sorry.')], {
      tools: { count: tool({ inputSchema: z.object({ n: z.number() }), execute: async () => (times += 1) }) },
    });
    expect((await agent.generate({ session: await session(), prompt: 'Count.' })).text).toBe('Sorry.');
    expect(times).toBe(0);
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('Invalid arguments');
  });
});

describe('the host stops, speaks and leaves', () => {
  /** Runs until it is let go. */
  function held() {
    const begun = Promise.withResolvers<void>();
    const freed = Promise.withResolvers<void>();
    const wait = defineTool({
      ...plain,
      name: 'wait',
      async run(_input: unknown, { signal }: ToolContext) {
        begun.resolve();
        signal.addEventListener('abort', () => freed.resolve());
        await freed.promise;
        return 'waited';
      },
    });
    return { wait, begun: begun.promise, ended: freed.promise, free: () => freed.resolve() };
  }

  test('its signal ends the turn as aborted, and the session takes the next one', async () => {
    const { wait, begun } = held();
    const { agent, session } = hostAgent([calling(call('a', 'wait')), simpleText('Here.')], {
      parts: { tools: [wait] },
    });
    const open = await session();
    const stop = new AbortController();
    const result = await agent.stream({ session: open, prompt: 'Wait.', abortSignal: stop.signal });
    await begun;
    stop.abort(new Error('Enough.'));
    const types = (await Array.fromAsync(result.fullStream)).map(({ type }) => type);
    expect(types.at(-1)).toBe('abort');
    expect(types).not.toContain('error');
    expect((await agent.generate({ session: open, prompt: 'Again.' })).text).toBe('Here.');
  });

  test('what is said meanwhile is read at the next step', async () => {
    const { wait, begun, free } = held();
    const { agent, session, model } = hostAgent([calling(call('a', 'wait')), simpleText('Left.')], {
      parts: { tools: [wait] },
    });
    const open = await session();
    const result = await agent.stream({ session: open, prompt: 'Wait.' });
    await begun;
    await agent.experimental_steer({ session: open, text: 'Turn left.' });
    free();
    expect(await result.text).toBe('Left.');
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('Turn left.');
  });

  test('suspended and continued at once: no gap, nothing twice, no call of the model again', async () => {
    const { wait, begun, free } = held();
    const { agent, harness, sandboxSession, model } = hostAgent(
      [{ pieces: [...(simpleText('Wait. ').pieces ?? []), call('a', 'wait')] }, simpleText('Done.')],
      { parts: { tools: [wait] } },
    );
    const first = await agent.createSession({ sessionId: 's', sandboxSession });
    const result = await agent.stream({ session: first, prompt: 'Wait.' });
    await begun;
    const state = await first.suspendTurn();
    expect(harness.harnessId).toBe(state.harnessId);
    const seen = await Array.fromAsync(result.fullStream);
    const second = await agent.createSession({
      sessionId: 's',
      sandboxSession,
      continueFrom: JSON.parse(JSON.stringify(state)),
    });
    expect(second.isResume).toBe(true);
    const rest = await agent.continueStream({ session: second });
    free();
    const more = await Array.fromAsync(rest.fullStream);
    expect(textIn([...seen, ...more])).toBe('Wait. Done.');
    expect(more.filter(({ type }) => type === 'tool-result')).toMatchObject([{ toolCallId: 'a', output: 'waited' }]);
    expect(model.calls.length).toBe(2);
  });

  test('detached while a person is asked, the session goes on with that turn', async () => {
    const { agent, sandboxSession } = hostAgent(
      [calling(call('a', 'guarded', { line: 'x' })), simpleText('So be it.')],
      { parts: { tools: [guarded] } },
    );
    const first = await agent.createSession({ sessionId: 's', sandboxSession });
    const [approvalId = ''] = requestsIn((await agent.generate({ session: first, prompt: 'Leave x.' })).content);
    const resumeFrom = await first.detach();
    const second = await agent.createSession({ sessionId: 's', sandboxSession, resumeFrom });
    const rest = await agent.continueGenerate({ session: second, toolApprovalContinuations: [word(approvalId, true)] });
    expect([rest.text, ran]).toEqual(['So be it.', ['x']]);
  });

  test('destroyed, it leaves nothing at work', async () => {
    const { wait, begun, ended } = held();
    const { agent, session } = hostAgent([calling(call('a', 'wait'))], { parts: { tools: [wait] } });
    const open = await session();
    await agent.stream({ session: open, prompt: 'Wait.' });
    await begun;
    await open.destroy();
    await ended;
  });

  test('detached between turns, the session knows them afterwards', async () => {
    const { agent, sandboxSession, model } = hostAgent([simpleText('Noted.'), simpleText('7.')]);
    const first = await agent.createSession({ sessionId: 's', sandboxSession });
    await agent.generate({ session: first, prompt: 'It is 7.' });
    const resumeFrom = await first.detach();
    const second = await agent.createSession({ sessionId: 's', sandboxSession, resumeFrom });
    expect((await agent.generate({ session: second, prompt: 'Which?' })).text).toBe('7.');
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('It is 7.');
  });

  test('P-074: a state of another harness, session or run is refused before anything starts', async () => {
    const { agent, sandboxSession, harness, model } = hostAgent([simpleText('Noted.')]);
    const open = await agent.createSession({ sessionId: 's', sandboxSession });
    await agent.generate({ session: open, prompt: 'It is 7.' });
    const state = await open.detach();
    const start = (resumeFrom: object, sessionId = 's') =>
      harness.doStart({ sessionId, resumeFrom: { ...state, ...resumeFrom } });
    await expect(start({ harnessId: 'other' })).rejects.toThrow('another harness');
    await expect(start({ specificationVersion: 'harness-v2' })).rejects.toThrow('another specification');
    await expect(start({ type: 'continue-turn' })).rejects.toThrow("no 'resume-session'");
    await expect(start({ data: { runId: 7 } })).rejects.toThrow('where its turn stands');
    await expect(start({ data: { runId: 'resp_0', seq: 1 } })).rejects.toThrow();
    await expect(start({ data: { ...(state.data as object), seq: 1_000 } })).rejects.toThrow('ahead');
    await expect(start({}, 'another')).rejects.toThrow('another session');
    expect(model.calls.length).toBe(1);
  });
});

const textIn = (parts: readonly { readonly type: string; readonly text?: string }[]) =>
  parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
