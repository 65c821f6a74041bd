import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { applyDrafts, closeRun } from '../core/closing.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { buildPrompt, type PromptOptions, type Repair } from './build-prompt.ts';
import { createLogBuilder, testRunId, testSessionId, testTask } from '../testing/log-builder.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { evolve, initialRunState, type RunState } from '../core/run-state.ts';
import { isTaskListText } from './task-list-text.ts';
import { simpleText } from '../testing/model-servers/reply-script.ts';
import { withoutPlace, type AssistantPart, type Message, type ToolAnswer } from '../core/transcript.ts';
import type { ContentStore } from './content-store.ts';
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { OpenedModel } from './model.ts';
import type { RunEvent, Todo, UserPart } from '../core/run-event.ts';
import type { RunConfig } from '../core/run-config.ts';

const openedAs = (provider: string, more: Partial<OpenedModel> = {}): OpenedModel => ({
  model: createScriptedModel([simpleText('x')], { provider, modelId: more.model?.modelId ?? 'm-1' }),
  traits: {},
  maxOutputTokens: null,
  ...more,
});

const bytes = new Uint8Array([137, 80, 78, 71]);
const content: ContentStore = {
  putContent: async () => ({ ref: 'never', bytes: 0 }),
  content: async (ref) => (ref === 'gone' ? null : bytes),
};

const start = initialRunState(testRunId, testSessionId);
const stateOf = (events: readonly RunEvent[]) => events.reduce(evolve, start);
const withMessages = (messages: readonly Message[], more: Partial<RunState> = {}): RunState => ({
  ...start,
  ...more,
  transcript: { ...start.transcript, messages },
});

const build = (state: RunState, options: Partial<PromptOptions> = {}) =>
  buildPrompt(state, { history: [], content, opened: openedAs('scripted'), cache: null, ...options });

const said = (...texts: readonly string[]): Message => ({
  role: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
});
const replied = (...parts: readonly AssistantPart[]): Message => ({ role: 'assistant', parts });
const calls = (id: string, name = 'read_file'): AssistantPart => ({
  kind: 'tool-call',
  call: { id, name, arguments: '{"path":"a"}' },
});
const gave = (...answers: readonly (Partial<ToolAnswer> & { toolCallId: string })[]): Message => ({
  role: 'tool',
  answers: answers.map((answer) => ({ name: 'read_file', content: 'text', isError: false, ...answer })),
});

/** What providers refuse: a call without its one result right behind, neighbours of one role, a turn without content. */
function expectValid(prompt: LanguageModelV4Prompt): void {
  for (const [index, message] of prompt.entries()) {
    const [before, after] = [prompt[index - 1], prompt[index + 1]];
    expect(message.content.length).toBeGreaterThan(0);
    expect(before?.role).not.toBe(message.role);
    if (message.role === 'system') expect(index).toBe(0);
    if (message.role === 'tool') expect(before?.role).toBe('assistant');
    if (message.role !== 'assistant') continue;
    const asked = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []));
    const results = after?.role === 'tool' ? after.content : [];
    expect(results.map((part) => (part.type === 'tool-result' ? part.toolCallId : ''))).toEqual(asked);
  }
}

const callRepairs = new Set<Repair>(['call-without-result', 'result-without-call', 'second-result']);

describe('what a provider is sent (E-444)', () => {
  const text = fc.constantFrom('', ' ', 'words');
  const id = fc.constantFrom('a', 'b', 'c');
  const anyMessage: fc.Arbitrary<Message> = fc.oneof(
    fc.array(text, { maxLength: 2 }).map((texts) => said(...texts)),
    fc
      .record({
        words: fc.array(text, { maxLength: 2 }),
        thought: fc.boolean(),
        ids: fc.uniqueArray(id, { maxLength: 3 }),
      })
      .map(({ words, thought, ids }) =>
        replied(
          ...(thought ? [{ kind: 'thinking', text: 'hm' } as const] : []),
          ...words.map((word) => ({ kind: 'text', text: word }) as const),
          ...ids.map((each) => calls(each)),
        ),
      ),
    fc.array(id, { maxLength: 4 }).map((ids) => gave(...ids.map((toolCallId) => ({ toolCallId })))),
  );

  test('Q1, Q2: it is valid whatever the messages are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyMessage, { maxLength: 10 }), async (messages) => {
        expectValid(await build(withMessages(messages)));
      }),
      { numRuns: 1000 },
    );
  });

  test('of several results the newest stands, one without a call goes, a call without one gets a stub: all are told of', async () => {
    const repairs: Repair[] = [];
    const messages = [
      gave({ toolCallId: 'x' }),
      said('Go.'),
      replied(calls('a'), calls('b')),
      gave({ toolCallId: 'a', content: 'old' }, { toolCallId: 'y' }),
      said('Well?'),
      gave({ toolCallId: 'a', content: 'new' }),
      replied({ kind: 'text', text: ' ' }),
    ];
    const prompt = await build(withMessages(messages), { onRepair: (what) => void repairs.push(what) });
    expectValid(prompt);
    expect(prompt[2]?.content).toMatchObject([
      { toolCallId: 'a', output: { type: 'text', value: 'new' } },
      { toolCallId: 'b', output: { type: 'error-text', value: 'This call has no recorded result.' } },
    ]);
    expect(repairs.toSorted()).toEqual(
      [
        'call-without-result',
        'result-without-call',
        'result-without-call',
        'second-result',
        'turn-without-content',
      ].toSorted(),
    );
  });

  test('E-565, B091: wherever a run is cut and closed, no later request of the session needs a repair of a call', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, async (log) => {
        const repairs: Repair[] = [];
        const onRepair = (what: Repair) => void repairs.push(what);
        for (const [index, event] of log.entries()) {
          const state = stateOf(log.slice(0, index + 1));
          if (event.type === 'step-started' || event.type === 'attempt-reset')
            expectValid(await build(state, { onRepair }));
          if (state.result !== null) continue;
          const { transcript } = applyDrafts(state, closeRun(state, { status: 'cancelled' }, 0), 0);
          expectValid(await build(withMessages([said('Go on.')]), { onRepair, history: transcript.messages }));
        }
        expect(repairs.filter((what) => callRepairs.has(what))).toEqual([]);
      }),
    );
  });

  test('E-212: each attempt of a step is sent the same', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, async (log) => {
        let before: LanguageModelV4Prompt = [];
        for (const [index, event] of log.entries()) {
          if (event.type !== 'step-started' && event.type !== 'attempt-reset') continue;
          const prompt = await build(stateOf(log.slice(0, index + 1)));
          if (event.type === 'attempt-reset') expect(prompt).toEqual(before);
          before = prompt;
        }
      }),
    );
  });

  test('a name that no provider would take back is made one that it takes, the same at the call and at its result', async () => {
    const prompt = await build(
      withMessages([said('Go.'), replied(calls('a', 'functions.read file')), gave({ toolCallId: 'a' })]),
    );
    expect(prompt[1]?.content).toMatchObject([{ toolName: 'functions_read_file' }]);
    expect(prompt[2]?.content).toMatchObject([{ toolName: 'functions_read_file' }]);
  });

  test('E-356: blocks that only their provider can read are left out for another, calls and words stay', async () => {
    const sealed = { anthropic: { signature: 's' } };
    const messages = [
      said('Go.'),
      replied(
        { kind: 'thinking', text: 'hm', _provider: sealed },
        { kind: 'text', text: 'Reading.', _provider: sealed },
        { ...calls('a'), _provider: sealed },
      ),
      gave({ toolCallId: 'a' }),
    ];
    const own = await build(withMessages(messages));
    expect(own[1]?.content).toMatchObject([
      { type: 'reasoning', providerOptions: sealed },
      { type: 'text', providerOptions: sealed },
      { type: 'tool-call', providerOptions: sealed },
    ]);
    const foreign = await build(withMessages(messages), { dropBound: true });
    expect(foreign[1]?.content).toEqual([
      { type: 'text', text: 'Reading.' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'read_file', input: { path: 'a' } },
    ]);
  });

  test('E-904: the system prompt is that of the agent, then the instructions, then the skills', async () => {
    const config = { systemPrompt: 'You are.', instructions: 'Do.' } as RunConfig;
    const prompt = await build(withMessages([said('Go.')], { config }), { systemAddition: 'Skills: none.' });
    expect(prompt[0]).toEqual({ role: 'system', content: 'You are.\n\nDo.\n\nSkills: none.' });
  });
});

describe('the task list (E-642)', () => {
  const todos: readonly Todo[] = [
    { content: 'Look', status: 'completed' },
    { content: 'Leap', status: 'in_progress' },
  ];
  const config = { systemPrompt: null, instructions: null, planning: true } as RunConfig;

  test('it is the last thing said, and no part of what stands before', async () => {
    const messages = [said('Go.'), replied(calls('a')), gave({ toolCallId: 'a' })];
    const prompt = await build(withMessages(messages, { todos, config }));
    const plain = await build(withMessages(messages));
    expect(prompt.slice(0, -1)).toEqual(plain);
    expect(prompt.at(-1)).toMatchObject({ role: 'user', content: [{ type: 'text' }] });
    expect(JSON.stringify(prompt.at(-1))).toContain('[in_progress] Leap');
    const first = await build(withMessages([said('Go.')], { todos, config }));
    expect(first).toHaveLength(1);
    const texts =
      first[0]?.role === 'user' ? first[0].content.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [];
    expect(texts.map(isTaskListText)).toEqual([false, true]);
  });

  test('none is sent without planning, without entries, or behind a reply that is handed back for more (E-406)', async () => {
    const messages = [said('Go.'), replied({ kind: 'text', text: 'Half' })];
    expect(await build(withMessages([said('Go.')], { todos }))).toHaveLength(1);
    expect((await build(withMessages([said('Go.')], { todos: [], config })))[0]?.content).toHaveLength(1);
    expect((await build(withMessages(messages, { todos, config }))).at(-1)?.role).toBe('assistant');
  });
});

describe('media (E-552)', () => {
  const picture: UserPart = { type: 'media', mediaType: 'image/png', filename: 'a.png', ref: 'r', bytes: 4 };
  const asked: Message = { role: 'user', content: [{ type: 'text', text: 'What is it?' }, picture] };
  const shot = [{ ref: 's', bytes: 4, mediaType: 'image/jpeg' }];

  test.each([['image/*'], ['image/png'], ['IMAGE/PNG']])('a model that accepts %s is sent the bytes', async (type) => {
    const prompt = await build(withMessages([asked]), { opened: openedAs('scripted', { accepts: [type] }) });
    expect(prompt[0]?.content).toEqual([
      { type: 'text', text: 'What is it?' },
      { type: 'file', mediaType: 'image/png', filename: 'a.png', data: { type: 'data', data: bytes } },
    ]);
  });

  test('one that does not reads its name, type and size, and the store is left alone', async () => {
    const read: string[] = [];
    const watched = { ...content, content: async (ref: string) => (read.push(ref), bytes) };
    for (const accepts of [[], ['image/jpeg', 'application/pdf', 'image']]) {
      const opened = openedAs('scripted', { accepts });
      const prompt = await build(withMessages([asked]), { opened, content: watched });
      expect(prompt[0]?.content).toMatchObject([
        {},
        { type: 'text', text: '[The file "a.png" (image/png, 4 bytes) cannot be shown to this model.]' },
      ]);
    }
    expect(read).toEqual([]);
  });

  test('bytes that the store has lost are said to be gone', async () => {
    const lost: Message = { role: 'user', content: [{ ...picture, ref: 'gone' }] };
    const prompt = await build(withMessages([lost]), { opened: openedAs('scripted', { accepts: ['image/*'] }) });
    expect(JSON.stringify(prompt)).toContain('is not kept any more');
  });

  const shown = (provider: string, answer: Partial<ToolAnswer> = {}) =>
    build(withMessages([said('Go.'), replied(calls('a')), gave({ toolCallId: 'a', media: shot, ...answer })]), {
      opened: openedAs(provider, { accepts: ['image/*'] }),
    });

  test('those of a result are parts of it, beside its text', async () => {
    expect((await shown('anthropic.messages'))[2]?.content).toMatchObject([
      {
        output: {
          type: 'content',
          value: [
            { type: 'text', text: 'text' },
            { type: 'file', mediaType: 'image/jpeg' },
          ],
        },
      },
    ]);
    expect((await shown('anthropic.messages', { content: '' }))[2]?.content).toMatchObject([
      { output: { type: 'content', value: [{ type: 'file' }] } },
    ]);
  });

  test('where results are text alone, they are named in the text', async () => {
    const value = 'text\n[A file (image/jpeg, 4 bytes) cannot be shown to this model.]';
    expect((await shown('openai-compatible.chat'))[2]?.content).toMatchObject([{ output: { type: 'text', value } }]);
    expect((await shown('anthropic.messages', { isError: true }))[2]?.content).toMatchObject([
      { output: { type: 'error-text', value } },
    ]);
  });
});

describe('the front that a provider can cache', () => {
  const todos: readonly Todo[] = [{ content: 'Look', status: 'pending' }];
  const config = { systemPrompt: 'You are.', instructions: null, planning: true } as RunConfig;
  const cached = { opened: openedAs('anthropic.messages'), cache: { ttl: '5m' } as const };

  /** A prompt as the list of its parts, without marks and the task list. */
  const partsOf = (prompt: LanguageModelV4Prompt): readonly unknown[] =>
    prompt.flatMap<unknown>((message) =>
      message.role === 'system'
        ? [['system', message.content]]
        : message.content.flatMap((part) => {
            if (part.type === 'text' && isTaskListText(part.text)) return [];
            const { providerOptions: _marks, ...plain } = part;
            return [[message.role, plain]];
          }),
    );

  test('Q3: the request of a step is the front of the next one', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, arbitraryLog, async (earlier, log) => {
        const history = stateOf(earlier).transcript.messages.map(withoutPlace);
        let before: readonly unknown[] = [];
        for (const [index, event] of log.entries()) {
          if (event.type !== 'step-started') continue;
          const state = { ...stateOf(log.slice(0, index + 1)), config, todos };
          const parts = partsOf(await build(state, { ...cached, history }));
          expect(parts.slice(0, before.length)).toEqual(before);
          before = parts;
        }
      }),
    );
  });

  const marks = (prompt: LanguageModelV4Prompt) =>
    prompt.flatMap((message, index) => {
      const on = message.role === 'system' ? [message] : message.content;
      return on.flatMap((part, at) => (part.providerOptions?.['anthropic']?.['cacheControl'] ? [[index, at]] : []));
    });

  test('marks stand on the system prompt, on the end of the request before, and on its own end before the task list', async () => {
    const log = createLogBuilder();
    log.start(testTask);
    const step = { kind: 'call', id: 'a', pieces: ['{}'], outcome: 'ok', content: 'c' } as const;
    const of = (events: readonly RunEvent[]) => build({ ...stateOf(events), config, todos }, cached);
    expect(marks(await of(log.events))).toEqual([
      [0, 0],
      [1, 0],
    ]);
    log.step({ blocks: [step, { ...step, id: 'b' }] });
    expect(marks(await of(log.events))).toEqual([
      [0, 0],
      [1, 0],
      [3, 1],
    ]);
    log.step({ blocks: [step] });
    expect(marks(await of(log.events))).toEqual([
      [0, 0],
      [3, 1],
      [5, 0],
    ]);
  });

  test('only models of Anthropic get any, with the time that was asked for', async () => {
    const state = withMessages([said('Go.')], { config });
    const named = (provider: string, modelId: string) => {
      const model = createScriptedModel([simpleText('x')], { provider, modelId });
      return build(state, { opened: openedAs(provider, { model }), cache: { ttl: '1h' } });
    };
    expect(marks(await named('openai.responses', 'gpt'))).toEqual([]);
    expect(marks(await named('openrouter', 'openai/gpt'))).toEqual([]);
    expect(marks(await build(state, { opened: openedAs('anthropic.messages'), cache: null }))).toEqual([]);
    expect(marks(await named('openrouter', 'anthropic/claude'))).toHaveLength(2);
    expect(JSON.stringify(await named('anthropic.messages', 'claude'))).toContain('"ttl":"1h"');
    expect(JSON.stringify(await build(state, cached))).not.toContain('ttl');
  });
});
