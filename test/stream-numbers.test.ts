// Numbers of frames: of every kind of frame, however a task goes, in both forms of its stream.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, reply, say, text, type Replies } from './support/model.ts';
import { createFastClock } from './support/fast-clock.ts';
import { finalOf, key, until, whole } from './support/uhp.ts';
import { isDelta, isTerminal, readFrames, type SeenFrame } from './support/event-stream.ts';
import { startAsked, startAsking, say as decide, type AskingServer } from './support/asking-server.ts';
import { piece, turnHarness, turnSettings } from './support/turn-harness.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { approvalIds } from '../src/core/ids.ts';
import type { EventDraft, PendingTool } from '../src/core/run-event.ts';
import type { RunState } from '../src/core/run-state.ts';
import type { Uhp } from './support/uhp.ts';
import type { UhpEventType } from '../src/protocol/uhp/events.ts';

const todos = [{ content: 'Look', status: 'in_progress' }];
const broken = { kind: 'cut', after: 1 } as const;
const replies: Replies = {
  tools: [
    reply(
      { kind: 'thinking', chunks: ['Let me ', 'see.'] },
      text('I will ', 'look.'),
      call('a', 'list_files', {}),
      call('b', 'write_todos', { todos }),
    ),
    say('There ', 'is nothing.'),
  ],
  write: [reply(text('Writing. '), call('w', 'write_file', { path: 'made.txt', content: 'x' })), say('Done.')],
  rounds: [reply(call('a', 'list_files', {})), reply(call('b', 'list_files', { path: '.' })), say('Done.')],
  'fails at once': [{ fault: { kind: 'status', status: 400, message: 'No.' } }],
  'fails later': [{ ...say('half'), fault: { kind: 'error-event', after: 1, type: 'invalid_request_error' } }],
  'breaks off': [{ ...say('half ', 'and'), fault: broken }],
};
/** What a harness may tell of beside what the engine tells of. */
function toldIn({ runId }: RunState): readonly EventDraft[] {
  const [model, other] = [
    { provider: 'turns', model: 'turns-1' },
    { provider: 'turns', model: 'turns-2' },
  ];
  const place = { step: 1, attempt: 1 };
  const lost: PendingTool = {
    approvalId: approvalIds.make('lost'),
    kind: 'recovery',
    executionKey: `${runId}:1:c`,
    runId,
    step: 1,
    call: { id: 'c', name: 'bash', input: {} },
    argsDigest: 'x',
    replay: 'manual',
    toolAttempt: 1,
    status: 'uncertain',
    requestedAtMs: 1,
    expiresAtMs: null,
  };
  const size = { trigger: 'auto', method: 'prune', tokensBefore: 2, tokensAfter: 1 } as const;
  const message = { messageId: 'm', content: [{ type: 'text', text: 'Faster.' }], mode: 'steer' } as const;
  return [
    piece(0, 'first '),
    { type: 'waiting', data: { on: 'model', seconds: 1 }, ...place },
    { type: 'model-switched', data: { kind: 'failover', from: model, to: other, reason: 'x' }, ...place },
    { type: 'compacted', data: { ...size, throughSeq: 1, usage: null }, ...place },
    { type: 'user-message', data: message, ...place },
    { type: 'file-changed', data: { kind: 'create', path: 'x', bytes: 1 }, ...place },
    { type: 'budget-reached', data: { budget: 'steps', limit: 1, used: 1, then: 'stop' }, ...place },
    { type: 'gap', data: { reason: 'deltas_lost' }, ...place },
    { type: 'recovery-required', data: lost, ...place },
  ];
}

/** A new one does not compile without its line here. */
const everyKind: Readonly<Record<UhpEventType, true>> = {
  'response.created': true,
  'response.in_progress': true,
  'response.output_item.added': true,
  'response.content_part.added': true,
  'response.output_text.delta': true,
  'response.output_text.done': true,
  'response.output_text.annotation.added': true,
  'response.content_part.done': true,
  'response.reasoning_summary_part.added': true,
  'response.reasoning_summary_text.delta': true,
  'response.reasoning_summary_part.done': true,
  'response.function_call_arguments.delta': true,
  'response.function_call_arguments.done': true,
  'response.output_item.done': true,
  'response.completed': true,
  'response.incomplete': true,
  'response.failed': true,
  'reins.attempt_reset': true,
  'reins.waiting': true,
  'reins.todos_updated': true,
  'reins.tool_result': true,
  'reins.approval_required': true,
  'reins.recovery_required': true,
  'reins.approval_decided': true,
  'reins.user_message': true,
  'reins.model_switched': true,
  'reins.compacted': true,
  'reins.file_changed': true,
  'reins.budget_reached': true,
  'reins.gap': true,
};

interface Row {
  readonly name: string;
  readonly run: (uhp: Uhp) => Promise<string>;
  readonly ends: UhpEventType;
}

const asked = { metadata: { reins_events: true } };
const streamed =
  (input: string, body: object = {}) =>
  async (uhp: Uhp) =>
    finalOf(await whole(uhp.stream({ input, ...asked, ...body }))).id;
/** Up to the first piece; then something is done to the task, and it is read to its end. */
const begun = (input: string, act: (uhp: Uhp, id: string) => Promise<unknown>) => async (uhp: Uhp) => {
  const first = await until(await uhp.stream({ input, ...asked }), isDelta);
  const id = first[0]?.event.response?.id ?? '';
  await act(uhp, id);
  await whole(uhp.attach(id));
  return id;
};
const approved = async (uhp: Uhp) => {
  const { task, asked: open } = await startAsked(uhp, { input: 'write', ...asked });
  await decide(uhp, open, 'decide', { decision: 'approve' });
  await whole(uhp.attach(task.id));
  return task.id;
};

const rows: readonly Row[] = [
  { name: 'succeeds, with thoughts and tools', run: streamed('tools'), ends: 'response.completed' },
  { name: 'waits for a person and makes a file', run: approved, ends: 'response.completed' },
  { name: 'fails before the first delta', run: streamed('fails at once'), ends: 'response.failed' },
  { name: 'fails after the first delta', run: streamed('fails later'), ends: 'response.failed' },
  { name: 'begins its reply again until it is given up', run: streamed('breaks off'), ends: 'response.failed' },
  { name: 'reaches a budget', run: streamed('rounds', { max_step: 1 }), ends: 'response.incomplete' },
  { name: 'is out of time', run: streamed('held one', { timeout_seconds: 1 }), ends: 'response.incomplete' },
  { name: 'is cancelled', run: begun('held two', (uhp, id) => uhp.cancel(id)), ends: 'response.failed' },
];

/** The stream of a task in one of its forms, whatever it was asked for. */
async function framesOf(uhp: Uhp, id: string, reinsEvents: boolean, after?: number): Promise<readonly SeenFrame[]> {
  const query = `stream=true&reins_events=${reinsEvents}${after === undefined ? '' : `&starting_after=${after}`}`;
  const answer = await fetch(`${uhp.url}/v1/responses/${id}?${query}`, { headers: { authorization: `Bearer ${key}` } });
  if (answer.body === null || answer.status !== 200) return [];
  return Array.fromAsync(readFrames(answer.body));
}

const seen = new Set<string>();

async function check(uhp: Uhp, id: string, ends: string): Promise<void> {
  const [plain, more] = [await framesOf(uhp, id, false), await framesOf(uhp, id, true)];
  for (const frames of [plain, more]) {
    expect(frames.map(({ event }) => event.sequence_number)).toEqual(frames.map((_, n) => n));
    expect(frames.map(({ event }) => event.type).indexOf(ends)).toBe(frames.length - 1);
    expect(frames.filter(isTerminal)).toHaveLength(1);
  }
  // UT-42: without Reins' own, the one form is the other.
  const unnumbered = (frames: readonly SeenFrame[]) => frames.map(({ event }) => ({ ...event, sequence_number: null }));
  expect(unnumbered(plain)).toEqual(unnumbered(more).filter(({ type }) => !type.startsWith('reins.')));
  for (const frames of [plain, more])
    for (let after = 0; after < frames.length - 1; after += 1) {
      const rest = await framesOf(uhp, id, frames === more, after);
      expect(rest.map((frame) => frame.text)).toEqual(frames.slice(after + 1).map((frame) => frame.text));
    }
  for (const { event } of more) seen.add(event.type);
}

describe('B017, UT-42: each frame has its number, from 0 and without a hole, and each form is taken up at any', () => {
  let place: AskingServer;
  beforeAll(async () => {
    place = await startAsking({ replies, clock: createFastClock(20) });
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test.each(rows)('of a task that $name', async ({ run, ends }) => check(place.uhp, await run(place.uhp), ends));

  test('of a task that a later process of the server goes on with', async () => {
    const first = await until(await place.uhp.stream({ input: 'held three', ...asked }), isDelta);
    const id = first[0]?.event.response?.id ?? '';
    await place.restart();
    place.gate.open();
    const frames = await whole(place.uhp.attach(id));
    expect(frames.slice(0, first.length).map((frame) => frame.text)).toEqual(first.map((frame) => frame.text));
    await check(place.uhp, id, 'response.completed');
  });

  test('of a harness that tells of all there is to be told; with it, no kind of frame is left out', async () => {
    const adapters = [turnHarness(({ state }) => ReadableStream.from(toldIn(state).map((draft) => [draft])))];
    await using server = await startServer({ data: temporaryFolder(), settings: turnSettings, adapters });
    await check(server.uhp, await streamed('go')(server.uhp), 'response.completed');
    // The server sends no `error` (UD-26).
    expect([...seen].toSorted()).toEqual(Object.keys(everyKind).toSorted());
  });
});
