// Adapters behind `fromHarnessV1`: one that is written by hand, and one of ours in both directions (P-119).

import { createScriptedModel } from '../src/testing/scripted-model.ts';
import { createRuntime, defineTool, toHarnessV1, type RunEvent, type ToolContext } from '../src/index.ts';
import { describeAdapterContract, serveAdapter, type Scenario } from './support/adapter-contract.ts';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../src/system.ts';
import type { HarnessV1, PromptTurnOptions } from '../src/harnesses/harness-v1/harness-v1.ts';
import type { ModelRequest } from '../src/engine/model.ts';
import type { ReplyPiece, ReplyScript, ScriptedReply } from '../src/testing/model-servers/reply-script.ts';

const text = (...chunks: string[]): ReplyPiece => ({ kind: 'text', chunks });
const call = (id: string, name: string): ReplyPiece => ({ kind: 'tool-call', id, name, arguments: ['{}'] });
const long: ReplyPiece = { kind: 'pause', ms: 600_000 };

const input = { type: 'object', properties: {} } as const;
const tools = [
  defineTool({
    name: 'wait',
    description: 'Waits until it is stopped.',
    input,
    useKind: 'readonly',
    run: (_input, { signal }: ToolContext) =>
      new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('stopped'))),
  }),
  defineTool({ name: 'guarded', description: 'Does it.', input, useKind: 'edit', run: () => 'done' }),
];

const scenarios: readonly Scenario[] = ['says', 'silent', 'half', 'in-tool', 'asks'];
const replies: Readonly<Record<Scenario, readonly ScriptedReply[]>> = {
  says: [{ pieces: [text('Hello.')] }],
  silent: [{ pieces: [long] }],
  half: [{ pieces: [text('Half'), long] }],
  'in-tool': [{ pieces: [call('a', 'wait')] }],
  asks: [{ pieces: [call('a', 'guarded')] }, { pieces: [text('Done.')] }],
};

/** By what the user said last. */
function replyTo(prompt: ModelRequest['prompt']): ScriptedReply {
  const last = prompt.findLastIndex(({ role }) => role === 'user');
  const said = JSON.stringify(prompt[last]?.content);
  const scenario = scenarios.find((each) => said.includes(`"${each}"`)) ?? 'says';
  return replies[scenario][prompt.slice(last).filter(({ role }) => role === 'assistant').length] ?? { pieces: [] };
}

const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());

function ours(script: ReplyScript<ModelRequest>): HarnessV1 {
  const provider = createScriptedModel(script, { clock: systemClock });
  return opened.use(toHarnessV1({ parts: { provider, tools } }, { driver: { kind: 'memory' } }));
}

describeAdapterContract('an agent of ours as an adapter', () => ours(({ prompt }) => replyTo(prompt)));
describeAdapterContract('written by hand', byHand);

type Emit = PromptTurnOptions['emit'];
interface Turn {
  readonly emit: Emit;
  readonly aborted: Promise<never>;
  readonly decided: Promise<boolean>;
}

const nothing = { inputTokens: {}, outputTokens: {} };
function end(emit: Emit, said: string): void {
  for (const type of ['text-start', 'text-delta', 'text-end']) emit({ type, id: 't', delta: said });
  emit({ type: 'finish-step', finishReason: { unified: 'stop' }, usage: nothing });
  emit({ type: 'finish', finishReason: { unified: 'stop' }, totalUsage: nothing });
}
const begin = (emit: Emit, toolName: string) =>
  emit({ type: 'tool-call', toolCallId: 'a', toolName, input: '{}', providerExecuted: true, stepToolCallCount: 1 });

const turns: Readonly<Record<Scenario, (turn: Turn) => Promise<void>>> = {
  says: async ({ emit }) => end(emit, 'Hello.'),
  async silent({ emit, aborted }) {
    emit({ type: 'reasoning-delta', id: 'r', delta: '' });
    await aborted;
  },
  async half({ emit, aborted }) {
    emit({ type: 'text-delta', id: 't', delta: 'Half' });
    await aborted;
  },
  async 'in-tool'({ emit, aborted }) {
    begin(emit, 'wait');
    emit({ type: 'tool-approval-request', approvalId: 'p', toolCallId: 'a' });
    await aborted;
  },
  async asks({ emit, decided, aborted }) {
    begin(emit, 'guarded');
    emit({ type: 'tool-approval-request', approvalId: 'p', toolCallId: 'a' });
    const isError = !(await Promise.race([decided, aborted]));
    emit({ type: 'tool-result', toolCallId: 'a', toolName: 'guarded', result: 'done', isError });
    emit({ type: 'finish-step', finishReason: { unified: 'tool-calls' }, usage: nothing });
    end(emit, 'Done.');
  },
};

function byHand(): HarnessV1 {
  return {
    specificationVersion: 'harness-v1',
    harnessId: 'by-hand',
    builtinTools: { wait: { toolUseKind: 'readonly' }, guarded: { toolUseKind: 'edit' } },
    supportsBuiltinToolApprovals: true,
    async doStart({ resumeFrom }) {
      if (resumeFrom !== undefined && resumeFrom.harnessId !== 'by-hand') throw new Error('Of another harness.');
      return {
        isResume: false,
        async doPromptTurn({ prompt, emit, abortSignal }) {
          const decided = Promise.withResolvers<boolean>();
          const aborted = new Promise<never>((_resolve, reject) =>
            abortSignal.addEventListener('abort', () => reject(abortSignal.reason)),
          );
          aborted.catch(() => undefined);
          return {
            submitToolResult: async () => undefined,
            submitToolApproval: async ({ approved }) => decided.resolve(approved),
            done: turns[scenarios.find((each) => each === prompt) ?? 'says']({
              emit,
              aborted,
              decided: decided.promise,
            }),
          };
        },
        doStop: async () => null,
        doDestroy: async () => undefined,
      };
    },
  };
}

test('in both directions: the events are those of the agent itself', async () => {
  const usage = { inputTokens: 7, outputTokens: 5 };
  const script: readonly ScriptedReply[] = [
    { pieces: [{ kind: 'thinking', chunks: ['Hm', 'm.'] }, text('Let ', 'me.'), call('a', 'guarded')], usage },
    { pieces: [call('b', 'guarded'), call('c', 'guarded')], usage },
    { pieces: [text('It is ', 'done.')], usage },
  ];
  await using runtime = createRuntime({
    agents: [{ parts: { provider: createScriptedModel(script), tools } }],
    driver: { kind: 'memory' },
  });
  const alone: RunEvent[] = [];
  for await (const event of runtime.runStream('Go')) alone.push(event);
  await using server = await serveAdapter(ours(script));
  const { body } = await server.uhp.create({ input: 'Go' });
  expect(body['status']).toBe('completed');
  expect(essence(await server.logOf(body.id))).toEqual(essence(alone));
});

/** What a run is about, without what belongs to the place where it was kept. */
function essence(events: readonly RunEvent[]): readonly unknown[] {
  const facts = events.map((event) => {
    const { type, step, data } = event;
    if (type === 'text-complete' || type === 'thinking-complete') return { type, step, data };
    if (type === 'tool-call-start') return { type, step, id: data.id };
    if (type === 'tool-result')
      return { type, step, id: data.toolCallId, content: data.content, isError: data.isError };
    if (type === 'run-result') return { type, step, status: data.status, output: data.output, usage: data.usage };
    if (type !== 'turn-complete') return null;
    const calls = data.calls.map((each) => [each.id, each.name, each.arguments]);
    return { type, step, finishReason: data.finishReason, calls };
  });
  return facts.filter((fact) => fact !== null);
}
