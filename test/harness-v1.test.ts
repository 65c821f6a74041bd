// A `HarnessV1` adapter that is written by hand, over a whole server (P-075 to P-079, H-700 to H-703).

import { afterEach, describe, expect, test } from 'vitest';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { checkLog } from '../src/testing/check-log.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { startHarnessV1Server } from './support/harness-v1-server.ts';
import type {
  HarnessV1,
  PromptControl,
  PromptTurnOptions,
  StartOptions,
} from '../src/harnesses/harness-v1/harness-v1.ts';
import type { RunEvent } from '../src/core/run-event.ts';
import type { RunId } from '../src/core/ids.ts';

interface Turn extends PromptTurnOptions {
  readonly started: StartOptions;
  /** Resolves with the answer to the approval. */
  approval(approvalId: string): Promise<{ approved: boolean; reason?: string }>;
  toolResult(toolCallId: string): Promise<{ output: unknown; isError?: boolean }>;
  message(): Promise<string>;
  readonly aborted: Promise<void>;
}

/** Words that come in, each for whoever waits for it. */
function inbox<T>() {
  const words = new Map<string, PromiseWithResolvers<T>>();
  return (key: string) => {
    const word = words.get(key) ?? Promise.withResolvers<T>();
    words.set(key, word);
    return word;
  };
}

const calls = { starts: [] as StartOptions[], prompts: [] as PromptTurnOptions[], stops: 0, destroys: 0 };

/** A whole adapter whose turns are what the test says. */
function handWritten(script: (turn: Turn) => Promise<void>, own: Partial<HarnessV1> = {}): HarnessV1 {
  return {
    specificationVersion: 'harness-v1',
    harnessId: 'hand-written',
    builtinTools: { read: { toolUseKind: 'readonly' }, write: { toolUseKind: 'edit' }, bash: { toolUseKind: 'bash' } },
    supportsBuiltinToolApprovals: true,
    async doStart(started) {
      calls.starts.push(started);
      return {
        isResume: started.resumeFrom !== undefined,
        async doPromptTurn(options) {
          calls.prompts.push(options);
          const approvals = inbox<{ approved: boolean; reason?: string }>();
          const results = inbox<{ output: unknown; isError?: boolean }>();
          const messages = inbox<string>();
          const aborted = new Promise<void>((resolve) =>
            options.abortSignal.addEventListener('abort', () => resolve()),
          );
          const control: PromptControl = {
            submitToolApproval: async ({ approvalId, ...word }) => approvals(approvalId).resolve(word),
            submitToolResult: async ({ toolCallId, ...word }) => results(toolCallId).resolve(word),
            submitUserMessage: async (text) => messages('one').resolve(text),
            done: script({
              ...options,
              started,
              aborted,
              approval: (id) => approvals(id).promise,
              toolResult: (id) => results(id).promise,
              message: () => messages('one').promise,
            }),
          };
          return control;
        },
        async doStop() {
          calls.stops += 1;
          return {
            type: 'resume-session',
            specificationVersion: 'harness-v1',
            harnessId: 'hand-written',
            data: { at: calls.prompts.length },
          };
        },
        async doDestroy() {
          calls.destroys += 1;
        },
      };
    },
    ...own,
  };
}

const folders: string[] = [];
afterEach(() => {
  Object.assign(calls, { starts: [], prompts: [], stops: 0, destroys: 0 });
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function temporary(): string {
  const data = mkdtempSync(join(tmpdir(), 'reins-v1-'));
  folders.push(data);
  return data;
}

async function serve(
  script: (turn: Turn) => Promise<void>,
  o: { readonly data?: string; readonly approvals?: object; readonly own?: Partial<HarnessV1> } = {},
) {
  const data = o.data ?? temporary();
  const server = await startHarnessV1Server(handWritten(script, o.own), { ...o, data });
  return {
    ...server,
    data,
    async logOf(id: unknown): Promise<readonly RunEvent[]> {
      await using store = openSqlite(join(data, 'reins.db'));
      const events = await store.readEvents(id as RunId, { after: 0, limit: 10_000 });
      expect(checkLog(events)).toEqual([]);
      return events;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
type Served = Awaited<ReturnType<typeof serve>>;

async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
const settled = ({ uhp }: Served, id: unknown) =>
  until(async () => {
    const { body } = await uhp.get(String(id));
    return body['status'] === 'in_progress' ? null : body;
  });
const pending = ({ uhp }: Served, seen: readonly string[] = []) =>
  until(async () => {
    const { body } = await uhp.send('GET', '/v1/reins/approvals');
    const { approvals = [] } = body as { approvals?: { id: string; status: string }[] };
    return approvals.find(({ id, status }) => status === 'pending' && !seen.includes(id)) ?? null;
  });
const decide = ({ uhp }: Served, id: string, decision: object) =>
  uhp.send('POST', `/v1/reins/approvals/${id}/decide`, { body: decision });
function textIn({ output }: Record<string, unknown>): unknown {
  const { content } = (Array.isArray(output) ? output.at(-1) : undefined) ?? {};
  return Array.isArray(content) ? content[0]?.text : undefined;
}
const only = <T extends RunEvent['type']>(events: readonly RunEvent[], type: T) =>
  events.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type);

const counts = (input: number, output: number) => ({ inputTokens: { total: input }, outputTokens: { total: output } });
const endOf = (unified = 'stop') => ({ unified });
const say = (emit: Turn['emit'], text: string) => {
  emit({ type: 'text-start', id: text });
  for (const piece of text.split(/(?<= )/)) emit({ type: 'text-delta', id: text, delta: piece });
  emit({ type: 'text-end', id: text });
};
const call = (id: string, toolName: string, input: object = { path: 'a.txt' }) => ({
  type: 'tool-call',
  toolCallId: id,
  toolName,
  input: JSON.stringify(input),
  providerExecuted: true,
});
const result = (id: string, toolName: string, value: unknown = 'ok') => ({
  type: 'tool-result',
  toolCallId: id,
  toolName,
  result: value,
});
const finishStep = (unified = 'stop', usage: object = counts(11, 7)) => ({
  type: 'finish-step',
  finishReason: endOf(unified),
  usage,
});
const finish = (usage: object = counts(22, 14)) => ({ type: 'finish', finishReason: endOf(), totalUsage: usage });

/** One that has ended and that nobody has asked after has no command line any more. */
const isAlive = (pid: number) => existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';

/** One call that is asked about, in a step whose calls are told beforehand, and a last word. */
async function writing({ emit, approval }: Turn): Promise<void> {
  emit({ type: 'stream-start', modelId: 'openai/test-model' });
  say(emit, 'I write. ');
  emit({ ...call('c1', 'write'), stepToolCallCount: 1 });
  emit({ type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'c1' });
  const word = await approval('a1');
  emit({ ...result('c1', 'write', word.approved ? 'ok' : 'denied'), isError: !word.approved });
  emit(finishStep('tool-calls'));
  say(emit, word.approved ? `Written.${word.reason ?? ''}` : `Refused: ${word.reason}`);
  emit(finishStep());
  emit(finish());
}

describe('P-068: parts become a log that keeps the laws', () => {
  test('a turn with a tool is two steps, with usage by step, and its call runs once it may', async () => {
    await using server = await serve(writing);
    const { body } = await server.uhp.create({ input: 'Write it' });
    expect(body).toMatchObject({ status: 'completed', usage: { input_tokens: 22, output_tokens: 14 } });
    expect(textIn(body)).toBe('Written.');
    const events = await server.logOf(body.id);
    expect(events.map(({ type }) => type).filter((type) => /^(step|turn|tool)/.test(type))).toEqual([
      'step-started',
      'tool-call-delta',
      'tool-call-delta',
      'turn-complete',
      'tool-call-start',
      'tool-dispatched',
      'tool-call-complete',
      'tool-result',
      'step-finished',
      'step-started',
      'turn-complete',
      'step-finished',
    ]);
    // A router's name of the model is that model.
    expect(only(events, 'model-switched')).toEqual([]);
    expect(calls.prompts[0]).toMatchObject({ prompt: 'Write it', model: 'test-model', tools: [] });
    expect(calls.starts[0]).toMatchObject({ permissionMode: 'allow-reads' });
  });

  test('calls of one step that come without their number, some asked about and some not, are all of it', async () => {
    await using server = await serve(async ({ emit, approval }) => {
      emit(call('r1', 'read'));
      emit(call('w1', 'write'));
      emit({ type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'w1' });
      emit(result('r1', 'read', { lines: 3 }));
      await approval('a1');
      emit(result('w1', 'write', null));
      emit(finishStep('tool-calls'));
      say(emit, 'Both.');
      emit(finishStep());
      emit(finish());
    });
    const { body } = await server.uhp.create({ input: 'Go' });
    const events = await server.logOf(body.id);
    expect(only(events, 'turn-complete')[0]?.data.calls.map(({ id }) => id)).toEqual(['r1', 'w1']);
    expect(only(events, 'tool-result').map(({ data }) => [data.toolCallId, data.content])).toEqual([
      ['r1', '{"lines":3}'],
      ['w1', ''],
    ]);
  });

  test('H-703: usage that is zero on every step and real at the end is the last step’s; no part is shown twice', async () => {
    await using server = await serve(async ({ emit }) => {
      emit(call('c1', 'read'));
      emit(result('c1', 'read'));
      emit(finishStep('tool-calls', counts(0, 0)));
      // Told again, as on a replay.
      emit(call('c1', 'read'));
      emit(result('c1', 'read'));
      say(emit, 'Read.');
      emit(finishStep('stop', {}));
      emit(finish(counts(50, 5)));
    });
    const { body } = await server.uhp.create({ input: 'Go' });
    expect(body).toMatchObject({ status: 'completed', usage: { input_tokens: 50, output_tokens: 5 } });
    const events = await server.logOf(body.id);
    expect(only(events, 'tool-result')).toHaveLength(1);
    expect(only(events, 'step-finished').map(({ data }) => data.usage?.inputTokens ?? null)).toEqual([null, 50]);
  });

  test('H-031: a total that goes on from turn to turn is counted once', async () => {
    await using server = await serve(async ({ emit, prompt }) => {
      say(emit, 'Yes.');
      emit(finishStep('stop', {}));
      emit(finish(prompt === 'One' ? counts(10, 2) : counts(35, 6)));
    });
    const { body } = await server.uhp.create({ input: 'One' });
    const { body: next } = await server.uhp.create({ input: 'Two', previous_response_id: body.id });
    expect([body, next].map(({ usage }) => usage)).toMatchObject([
      { input_tokens: 10, output_tokens: 2 },
      { input_tokens: 25, output_tokens: 4 },
    ]);
  });

  test('another model than was asked for is said; thinking, files and compactions are told; unknown parts do no harm', async () => {
    await using server = await serve(async ({ emit, started }) => {
      emit({ type: 'stream-start', modelId: 'other-model', warnings: [{ type: 'other', message: 'Careful.' }] });
      emit({ type: 'compaction', trigger: 'auto', summary: '', tokensBefore: 90, tokensAfter: 20 });
      emit({ type: 'reasoning-delta', id: 'r', delta: 'Hm.' });
      emit({ type: 'of-tomorrow', id: 1 });
      emit({ type: 'raw', rawValue: { when: new Date(0), cycle: emit } });
      emit({ type: 'file-change', event: 'create', path: join(started.sessionWorkDir, 'made.txt') });
      emit({ type: 'file-change', event: 'create', path: '/elsewhere/made.txt' });
      say(emit, 'Done.');
      emit(finishStep());
      emit(finish());
    });
    const { body } = await server.uhp.create({ input: 'Go' });
    expect(body['status']).toBe('completed');
    const events = await server.logOf(body.id);
    expect(only(events, 'model-switched')[0]?.data.to).toMatchObject({ model: 'other-model' });
    expect(only(events, 'compacted')[0]?.data).toMatchObject({ tokensBefore: 90, tokensAfter: 20 });
    expect(only(events, 'thinking-complete').map(({ data }) => data)).toEqual(['Hm.']);
    expect(only(events, 'file-changed').map(({ data }) => data.path)).toEqual(['made.txt']);
  });

  test('P-075: input that is an object, and a reason of a younger vocabulary, are taken for what they mean', async () => {
    await using server = await serve(async ({ emit }) => {
      emit({ ...call('c1', 'read'), input: { path: 'x' } });
      emit({ type: 'tool-result', toolCallId: 'c1', toolName: 'read' });
      emit(finishStep('interrupted'));
      say(emit, 'Read.');
      emit(finishStep('interrupted'));
      emit(finish());
    });
    const { body } = await server.uhp.create({ input: 'Go' });
    expect(body['status']).toBe('completed');
    const turns = only(await server.logOf(body.id), 'turn-complete').map(({ data }) => data);
    expect(turns.map(({ calls: [first] }) => first?.arguments)).toEqual(['{"path":"x"}', undefined]);
    expect(turns[1]).toMatchObject({ finishReason: 'other', rawFinishReason: 'interrupted' });
  });
});

describe('a turn ends once', () => {
  test.each<readonly [string, (turn: Turn) => Promise<void>, object]>([
    [
      'P-077: without an end it has failed',
      async ({ emit }) => say(emit, 'Half'),
      { status: 'failed', error: { message: expect.stringContaining('without an end') } },
    ],
    [
      'P-077: by a rejection it has failed, and a foreign word is shown to nobody',
      async () => {
        throw new Error('secret of the runtime');
      },
      { status: 'failed', error: { message: 'hand-written reported an error and ended the turn.' } },
    ],
    [
      'P-054: an error ends it, and nothing after it counts',
      async ({ emit }) => {
        emit({ type: 'error', error: Object.assign(new Error('Too many'), { statusCode: 429 }) });
        say(emit, 'Never shown.');
        emit(finish());
      },
      { status: 'failed', error: { message: expect.stringContaining('status 429') } },
    ],
    [
      'P-031: a malformed part of a known type is said, without its value',
      async ({ emit, aborted }) => {
        emit({ type: 'text-delta', id: 'sk-secret', delta: 5 });
        await aborted;
      },
      { status: 'failed', error: { message: expect.stringContaining('"delta"') } },
    ],
    [
      'P-076: what nobody can keep up with fails instead of growing',
      async ({ emit, aborted }) => {
        for (let index = 0; index < 20_000; index++) emit({ type: 'text-delta', id: `t${index}`, delta: 'x' });
        await aborted;
      },
      { status: 'failed', error: { message: expect.stringContaining('faster') } },
    ],
    [
      'a promise that stays open after the end does not keep the turn',
      async ({ emit }) => {
        say(emit, 'Done.');
        emit(finishStep());
        emit(finish());
        await new Promise(() => {});
      },
      { status: 'completed' },
    ],
  ])(
    '%s',
    async (_name, script, outcome) => {
      await using server = await serve(script);
      const { body } = await server.uhp.create({ input: 'Go' });
      expect(body).toMatchObject(outcome);
      expect(JSON.stringify(body)).not.toContain('secret');
      await server.logOf(body.id);
    },
    10_000,
  );

  test('a long text is joined while it waits, whole, and loses nothing', async () => {
    const pieces = Array.from({ length: 30_000 }, (_, index) => `${index} `);
    await using server = await serve(async ({ emit }) => {
      for (const delta of pieces) emit({ type: 'text-delta', id: 't', delta });
      emit(finishStep());
      emit(finish());
    });
    const { body } = await server.uhp.create({ input: 'Go' });
    expect(textIn(body)).toBe(pieces.join(''));
  });

  test('H-060: a cancel aborts the turn, and ends what it had started on this machine', async () => {
    await using server = await serve(async ({ emit, started: { sandboxSession: sandbox }, aborted }) => {
      emit(call('c1', 'bash'));
      await sandbox.spawn({ command: 'sleep 300 & echo $! > child.pid; wait' });
      await until(async () => ((await sandbox.readTextFile({ path: 'child.pid' })) ? true : null));
      say(emit, 'It runs.');
      await aborted;
      throw new DOMException('Stopped', 'AbortError');
    });
    const { body } = await server.uhp.create({ input: 'Go', background: true });
    const pid = await until(async () => {
      const path = join(calls.starts[0]?.sessionWorkDir ?? '/nowhere', 'child.pid');
      return existsSync(path) ? Number(readFileSync(path, 'utf8')) || null : null;
    });
    expect(isAlive(pid)).toBe(true);
    await server.uhp.cancel(body.id);
    expect(await settled(server, body.id)).toMatchObject({ status: 'cancelled' });
    expect(isAlive(pid)).toBe(false);
    expect(calls.stops).toBe(1);
    await server.logOf(body.id);
  });
});

describe('people', () => {
  test.each([
    ['approve', { decision: 'approve' }, 'Written.'],
    ['approve with a note', { decision: 'approve', note: ' Well.' }, 'Written. Well.'],
    ['deny', { decision: 'deny', note: 'Not there.' }, /Refused: .*Not there\./],
  ] as const)(
    'a call that is asked about waits for a person, and hears the answer: %s',
    async (_name, decision, said) => {
      await using server = await serve(writing, { approvals: { permissionMode: 'allow-reads' } });
      const { body } = await server.uhp.create({ input: 'Write it', background: true });
      expect((await decide(server, (await pending(server)).id, decision)).status).toBe(200);
      const end = await settled(server, body.id);
      expect(textIn(end)).toEqual(typeof said === 'string' ? said : expect.stringMatching(said));
      await server.logOf(body.id);
    },
  );

  test('two calls that are asked about in one step are both decided before either has run', async () => {
    await using server = await serve(
      async ({ emit, approval }) => {
        for (const id of ['c1', 'c2']) {
          emit({ ...call(id, 'write', { path: id }), stepToolCallCount: 2 });
          emit({ type: 'tool-approval-request', approvalId: `of-${id}`, toolCallId: id });
        }
        const words = await Promise.all([approval('of-c1'), approval('of-c2')]);
        for (const [index, id] of ['c1', 'c2'].entries())
          emit({ ...result(id, 'write'), isError: words[index]?.approved === false });
        emit(finishStep('tool-calls'));
        say(emit, words.map(({ approved }) => approved).join());
        emit(finishStep());
        emit(finish());
      },
      { approvals: { permissionMode: 'allow-reads' } },
    );
    const { body } = await server.uhp.create({ input: 'Go', background: true });
    const first = await pending(server);
    await decide(server, first.id, { decision: 'approve' });
    const second = await pending(server, [first.id]);
    await decide(server, second.id, { decision: 'deny' });
    expect(
      String(textIn(await settled(server, body.id)))
        .split(',')
        .toSorted(),
    ).toEqual(['false', 'true']);
    expect(only(await server.logOf(body.id), 'tool-result')).toHaveLength(2);
  });

  test('H-046: a question reaches a person, and the answer comes back by the ids of its options', async () => {
    const input = {
      allowPartialAnswers: true,
      questions: [
        {
          id: 'color',
          question: 'Which?',
          options: [
            { id: 'b', label: 'Blue' },
            { id: 'r', label: 'Red' },
          ],
          allowMultiple: true,
        },
        { id: 'why', question: 'Why?', allowFreeForm: { secret: false } },
      ],
    };
    const own = { builtinTools: { askUserQuestions: {} } };
    await using server = await serve(
      async ({ emit, toolResult }) => {
        emit({ ...call('q1', 'askUserQuestions', input), providerExecuted: false, stepToolCallCount: 1 });
        const { output } = await toolResult('q1');
        emit(result('q1', 'askUserQuestions', output));
        emit(finishStep('tool-calls'));
        say(emit, JSON.stringify(output));
        emit(finishStep());
        emit(finish());
      },
      { own },
    );
    const { base } = server.runtime;
    const { body: harness } = await server.uhp.send('POST', '/v1/harnesses', {
      body: { name: 'Asks', base, reins_questions: true },
    });
    const metadata = { harness_id: (harness as { id: string }).id };
    const { body } = await server.uhp.create({ input: 'Go', metadata, background: true });
    const answers = [
      { id: 'color', selected: ['Blue'] },
      { id: 'why', text: 'It is calm.' },
    ];
    const { id } = await pending(server);
    expect((await server.uhp.send('POST', `/v1/reins/approvals/${id}/answer`, { body: { answers } })).status).toBe(200);
    expect(JSON.parse(String(textIn(await settled(server, body.id))))).toEqual({
      action: 'answered',
      answers: { color: { optionIds: ['b'] }, why: { optionIds: [], freeform: 'It is calm.' } },
    });
    expect(only(await server.logOf(body.id), 'tool-result')).toHaveLength(1);
  });

  test('H-050: a message reaches the turn, and that it can is known once one has begun', async () => {
    await using server = await serve(async ({ emit, message }) => {
      say(emit, 'Working. ');
      emit(finishStep());
      say(emit, `You said ${await message()}`);
      emit(finishStep());
      emit(finish());
    });
    expect(server.runtime.capabilities.steer).toBe('none');
    const { body } = await server.uhp.create({ input: 'Go', background: true });
    await until(async () => (server.runtime.capabilities.steer === 'next-step' ? true : null));
    await until(async () => ((await server.logOf(body.id)).some(({ type }) => type === 'step-started') ? true : null));
    await server.uhp.send('POST', `/v1/reins/responses/${body.id}/steer`, { body: { input: 'hurry' } });
    expect(textIn(await settled(server, body.id))).toBe('You said hurry');
  });

  test('P-078: a call that is left to the host is answered: there is no such tool here, and the turn goes on', async () => {
    await using server = await serve(async ({ emit, toolResult }) => {
      emit({ ...call('c1', 'lookup'), providerExecuted: false });
      const { output, isError } = await toolResult('c1');
      emit({ ...result('c1', 'lookup', output), isError });
      emit(finishStep('tool-calls'));
      say(emit, String(output));
      emit(finishStep());
      emit(finish());
    });
    const { body } = await server.uhp.create({ input: 'Go' });
    expect(textIn(body)).toBe('Not run: there is no tool "lookup" here.');
    expect(only(await server.logOf(body.id), 'tool-result').map(({ data }) => data.isError)).toEqual([true]);
  });
});

describe('P-079: sessions', () => {
  const answer = async ({ emit, started }: Turn) => {
    say(emit, started.resumeFrom === undefined ? 'New.' : `Back from ${JSON.stringify(started.resumeFrom.data)}.`);
    emit(finishStep());
    emit(finish());
  };

  test('a follow-up finds its session; after a restart it is resumed from the state that was kept, byte for byte', async () => {
    const data = temporary();
    const first = await serve(answer, { data });
    const { body } = await first.uhp.create({ input: 'One' });
    const { body: next } = await first.uhp.create({ input: 'Two', previous_response_id: body.id });
    expect([textIn(next), calls.starts.length]).toEqual(['New.', 1]);
    await first[Symbol.asyncDispose]();
    await using second = await serve(answer, { data });
    const { body: last } = await second.uhp.create({ input: 'Three', previous_response_id: next.id });
    expect(textIn(last)).toBe('Back from {"at":2}.');
    expect(calls.prompts.at(-1)?.prompt).toBe('Three');
  });

  test.each<readonly [string, Partial<HarnessV1>]>([
    [
      'its schema refuses the state',
      { lifecycleStateSchema: { '~standard': { validate: () => ({ issues: ['no'] }) } } },
    ],
    [
      'it rejects the state',
      {
        doStart: (options) =>
          options.resumeFrom === undefined ? handWritten(answer).doStart(options) : Promise.reject(new Error('gone')),
      },
    ],
  ])('a session that cannot be resumed is begun anew and told what was said: %s', async (_name, own) => {
    const data = temporary();
    const first = await serve(answer, { data });
    const { body } = await first.uhp.create({ input: 'One' });
    await first[Symbol.asyncDispose]();
    await using second = await serve(answer, { data, own });
    const { body: next } = await second.uhp.create({ input: 'Two', previous_response_id: body.id });
    expect(textIn(next)).toBe('New.');
    expect(calls.prompts.at(-1)?.prompt).toMatch(/One[^]*New\.[^]*Two/);
  });

  test('the sandbox reads, writes and runs in the working directory, with none of the server’s secrets', async () => {
    process.env['PROVIDER_SECRET'] = 'hidden';
    await using server = await serve(async ({ emit, started: { sandboxSession: sandbox, sessionWorkDir } }) => {
      await sandbox.writeTextFile({ path: 'deep/a.txt', content: 'one\ntwo\nthree' });
      const lines = await sandbox.readTextFile({ path: join(sessionWorkDir, 'deep/a.txt'), startLine: 2, endLine: 9 });
      const ran = await sandbox.run({ command: 'pwd; echo "$PROVIDER_SECRET$OWN" >&2; exit 3', env: { OWN: 'own' } });
      const missing = await sandbox.readBinaryFile({ path: 'none' });
      const stopped = await sandbox
        .run({ command: 'sleep 60', abortSignal: AbortSignal.timeout(100) })
        .catch(({ name }) => name);
      say(
        emit,
        JSON.stringify({ lines, ran: { ...ran, stdout: ran.stdout === `${sessionWorkDir}\n` }, missing, stopped }),
      );
      emit(finishStep());
      emit(finish());
    });
    const { body } = await server.uhp.create({ input: 'Go' });
    expect(JSON.parse(String(textIn(body)))).toEqual({
      lines: 'two\nthree',
      ran: { exitCode: 3, stdout: true, stderr: 'own\n' },
      missing: null,
      stopped: 'TimeoutError',
    });
  });

  test('P-075: what an adapter needs to find is placed once for each recipe', async () => {
    const bootstrapDir = join(temporary(), 'bootstrap');
    const files = [{ path: 'bin/tool.sh', content: 'echo made >> log.txt' }];
    const getBootstrap = async () => ({
      harnessId: 'x',
      bootstrapDir,
      files,
      commands: [{ command: 'sh bin/tool.sh' }],
    });
    for (const commands of [1, 2]) {
      await using server = await serve(answer, { own: { getBootstrap } });
      expect((await server.uhp.create({ input: 'Go' })).body, String(commands)).toMatchObject({ status: 'completed' });
    }
    expect(readFileSync(join(bootstrapDir, 'log.txt'), 'utf8')).toBe('made\n');
  });

  test('an adapter that does not start is said, and what it had started is gone', async () => {
    const doStart = () => Promise.reject(new Error('secret'));
    await using server = await serve(answer, { own: { doStart } });
    const { body } = await server.uhp.create({ input: 'Go' });
    expect(body).toMatchObject({ status: 'failed', error: { message: 'hand-written was not ready for work.' } });
  });

  test('an adapter of another specification, or without a name, is refused where it is given', async () => {
    const refused = (own: object) => startHarnessV1Server({ ...handWritten(answer), ...own }, { data: temporary() });
    await expect(refused({ specificationVersion: 'harness-v2' })).rejects.toThrow('harness-v1');
    await expect(refused({ harnessId: 'Not A Name' })).rejects.toThrow('kebab-case');
  });
});
