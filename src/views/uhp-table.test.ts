import { describe, expect, test } from 'vitest';
import { approvalIds } from '../core/ids.ts';
import { parkRun } from '../core/closing.ts';
import type { EventDraft, PendingTool, RunEvent, TaskFacts, ToolOutcome } from '../core/run-event.ts';
import type { UhpEvent } from '../protocol/uhp/events.ts';
import type { OutputItem } from '../protocol/uhp/response.ts';
import { createLogBuilder, testRunId as runId, testSessionId as sessionId, testTask } from '../testing/log-builder.ts';
import type { BlockScript, Ending, LogBuilder, StepScript } from '../testing/log-builder.ts';
import { createUhpView, type UhpView } from './uhp-view.ts';

const place = { step: 1, attempt: 1 } as const;
const done: Ending = { status: 'completed', stopReason: 'end-turn' };
const cancelled: Ending = { status: 'cancelled', stopReason: 'cancelled' };
const text = (...pieces: string[]): BlockScript => ({ kind: 'text', pieces });
const thinking = (...pieces: string[]): BlockScript => ({ kind: 'thinking', pieces });
const call = (id: string, outcome: ToolOutcome = 'ok', content = 'result'): BlockScript => ({
  kind: 'call',
  id,
  pieces: ['{"a"', ':1}'],
  outcome,
  content,
});

function begun(o: { reinsEvents?: boolean; task?: TaskFacts } = {}): {
  log: LogBuilder;
  view: UhpView;
  next: () => UhpEvent[];
} {
  const log = createLogBuilder();
  const view = createUhpView({ runId, sessionId, reinsEvents: o.reinsEvents ?? false, emit: true });
  let read = 0;
  const next = () => {
    const fresh = log.events.slice(read);
    read = log.events.length;
    return fresh.flatMap((event) => view.push(event));
  };
  log.start(o.task);
  next();
  return { log, view, next };
}

/** One line an event: what a table row says of it. */
function lines(events: readonly UhpEvent[]): string[] {
  return events.map((event) => {
    const name = event.type.replace('response.', '');
    if ('item' in event) return `${name} ${event.output_index} ${event.item.type} ${statusOf(event.item)}`;
    if ('delta' in event) return `${name} ${event.output_index} ${event.delta}`;
    return 'output_index' in event ? `${name} ${event.output_index}` : name;
  });
}
const statusOf = (item: OutputItem) => item.status;
const withoutIds = (items: readonly OutputItem[]) => items.map((item) => ({ ...item, id: '' }));

function outputOf(steps: readonly StepScript[], ending: Ending): readonly OutputItem[] {
  const { log, view, next } = begun();
  for (const step of steps) log.step(step);
  log.end(ending);
  next();
  return view.response().output;
}

function afterStart(drafts: readonly EventDraft[], o: { reinsEvents?: boolean } = {}): string[] {
  const { log, next } = begun(o);
  log.add({
    type: 'step-started',
    step: 1,
    attempt: 0,
    data: { purpose: 'reply', model: { provider: 'p', model: 'm' }, replyBudget: null },
  });
  next();
  for (const draft of drafts) log.add(draft);
  return lines(next());
}

describe('UD-81: from log to stream', () => {
  test('run-started gives response.created with the task as it was admitted', () => {
    const log = createLogBuilder();
    log.start({ ...testTask, ignoredFields: ['tools'], metadata: { mine: 1, session_id: 'forged' } });
    const view = createUhpView({ runId, sessionId, reinsEvents: false, emit: true });
    expect(log.events.flatMap((event) => view.push(event))).toEqual([
      {
        type: 'response.created',
        sequence_number: 0,
        response: {
          id: runId,
          object: 'response',
          created_at: testTask.createdAt,
          status: 'in_progress',
          error: null,
          incomplete_details: null,
          previous_response_id: null,
          model: 'demo',
          output: [],
          store: true,
          usage: null,
          metadata: { mine: 1, session_id: sessionId, harness_id: testTask.harnessId, ignored_fields: ['tools'] },
        },
      },
    ]);
  });

  test('the first event after it gives response.in_progress before its own, whatever it is', () => {
    const { log, next } = begun();
    log.end(cancelled);
    expect(lines(next())).toEqual(['in_progress', 'failed']);
  });

  test('deltas open one item with one part a block', () => {
    expect(
      afterStart([
        { ...place, block: 0, type: 'thinking-delta', data: 'h' },
        { ...place, block: 1, type: 'text-delta', data: 'a' },
        { ...place, block: 0, type: 'thinking-delta', data: 'm' },
        { ...place, block: 1, type: 'text-delta', data: 'b' },
        { ...place, block: 2, type: 'tool-call-delta', data: { id: 'c', name: 'tool', partialJson: '' } },
        { ...place, block: 2, type: 'tool-call-delta', data: { id: 'c', name: 'tool', partialJson: '{}' } },
      ]),
    ).toEqual([
      'output_item.added 0 reasoning in_progress',
      'reasoning_summary_part.added 0',
      'reasoning_summary_text.delta 0 h',
      'output_item.added 1 message in_progress',
      'content_part.added 1',
      'output_text.delta 1 a',
      'reasoning_summary_text.delta 0 m',
      'output_text.delta 1 b',
      'output_item.added 2 function_call in_progress',
      'function_call_arguments.delta 2 {}',
    ]);
  });

  test('a whole step: thinking, text, a call and its result', () => {
    const { log, next } = begun();
    log.step({ blocks: [thinking('h'), text('t'), call('c')] });
    expect(lines(next()).slice(1)).toEqual([
      'output_item.added 0 reasoning in_progress',
      'reasoning_summary_part.added 0',
      'reasoning_summary_text.delta 0 h',
      'output_item.added 1 message in_progress',
      'content_part.added 1',
      'output_text.delta 1 t',
      'output_item.added 2 function_call in_progress',
      'function_call_arguments.delta 2 {"a"',
      'function_call_arguments.delta 2 :1}',
      'reasoning_summary_part.done 0',
      'output_item.done 0 reasoning completed',
      'output_text.done 1',
      'content_part.done 1',
      'output_item.done 1 message completed',
      'function_call_arguments.done 2',
      'output_item.done 2 function_call completed',
      'output_item.added 3 function_call_output in_progress',
      'output_item.done 3 function_call_output completed',
    ]);
  });

  test('UD-54: a message of a reply without calls stays open until the next step or the end', () => {
    const { log, next } = begun();
    log.step({ blocks: [text('one')], finishReason: 'max-tokens' });
    expect(lines(next()).at(-1)).toBe('output_text.delta 0 one');
    log.step({ blocks: [text('two')] });
    expect(lines(next()).slice(0, 3)).toEqual([
      'output_text.done 0',
      'content_part.done 0',
      'output_item.done 0 message completed',
    ]);
    log.end(done);
    expect(lines(next())).toEqual([
      'output_text.done 1',
      'content_part.done 1',
      'output_item.done 1 message completed',
      'completed',
    ]);
  });

  test('a block without deltas is opened at its completion and gets one delta with all of it', () => {
    const reply = {
      finishReason: 'end-turn',
      rawFinishReason: null,
      usage: null,
      usageIncomplete: true,
      served: null,
    } as const;
    const parts = [
      { block: 0, kind: 'thinking', start: 0, end: 2 },
      { block: 1, kind: 'tool-call', id: 'c' },
    ] as const;
    const calls = [{ id: 'c', name: 'tool', arguments: '{}' }];
    expect(
      afterStart([
        { ...place, type: 'thinking-complete', data: 'hm' },
        { ...place, type: 'turn-complete', data: { ...reply, parts, calls } },
      ]),
    ).toEqual([
      'output_item.added 0 reasoning in_progress',
      'reasoning_summary_part.added 0',
      'reasoning_summary_text.delta 0 hm',
      'reasoning_summary_part.done 0',
      'output_item.done 0 reasoning completed',
      'output_item.added 1 function_call in_progress',
      'function_call_arguments.delta 1 {}',
      'function_call_arguments.done 1',
    ]);
  });

  test('where deltas were lost the item is closed and begins again at its index with the whole text', () => {
    const reply = {
      finishReason: 'end-turn',
      rawFinishReason: null,
      usage: null,
      usageIncomplete: true,
      served: null,
    } as const;
    expect(
      afterStart([
        { ...place, block: 0, type: 'text-delta', data: 'a' },
        { ...place, type: 'gap', data: { reason: 'deltas_lost', step: 1, attempt: 1 } },
        { ...place, type: 'text-complete', data: 'abc' },
        {
          ...place,
          type: 'turn-complete',
          data: { ...reply, parts: [{ block: 0, kind: 'text', start: 0, end: 3 }], calls: [] },
        },
      ]),
    ).toEqual([
      'output_item.added 0 message in_progress',
      'content_part.added 0',
      'output_text.delta 0 a',
      'output_text.done 0',
      'content_part.done 0',
      'output_item.done 0 message incomplete',
      'output_item.added 0 message in_progress',
      'content_part.added 0',
      'output_text.delta 0 abc',
    ]);
  });

  test.each<[ToolOutcome, string, string | null]>([
    ['ok', 'completed', 'completed'],
    ['error', 'completed', 'completed'],
    ['invalid', 'completed', 'completed'],
    ['denied', 'completed', 'completed'],
    ['answered', 'completed', 'completed'],
    ['timeout', 'completed', 'incomplete'],
    ['unknown', 'completed', 'incomplete'],
    ['cancelled', 'completed', 'incomplete'],
    ['not-run', 'incomplete', null],
  ])('a call that ends %s: call %s, output %s', (outcome, callStatus, outputStatus) => {
    const output = outputOf([{ blocks: [call('c', outcome)] }], done);
    expect(output.map((item) => item.status)).toEqual(
      outputStatus === null ? [callStatus] : [callStatus, outputStatus],
    );
  });

  test('a call with an unknown outcome is named in the metadata', () => {
    const { log, view, next } = begun();
    log.step({ blocks: [call('c', 'unknown')] });
    log.end(done);
    next();
    expect(view.response().metadata['reins_unknown_outcomes']).toEqual(['c']);
  });

  test('a call id that comes again in a later step gets the step behind it', () => {
    const output = outputOf([{ blocks: [call('c')] }, { blocks: [call('c')] }], done);
    expect(output.map((item) => ('call_id' in item ? item.call_id : null))).toEqual(['c', 'c', 'c_2', 'c_2']);
  });

  test('a tool output above 64 KiB loses its middle and says so', () => {
    const item = outputOf([{ blocks: [call('c', 'ok', `a${'x'.repeat(100_000)}z`)] }], done)[1];
    const output = item?.type === 'function_call_output' ? item.output : '';
    expect(output).toMatch(/^ax+\n\[… 34466 characters left out …\]\nx+z$/);
  });

  test('a leg that parks and a later leg give nothing: the response stays in progress', () => {
    const { log, view, next } = begun();
    log.step({ blocks: [text('t')] });
    log.end({ ...done, status: 'completed' });
    const result = log.events.at(-1);
    if (result?.type !== 'run-result') throw new Error('The log has no result.');
    for (const event of log.events.slice(1, -1)) view.push(event);
    expect(view.push({ ...result, data: { ...result.data, status: 'awaiting-input' } })).toEqual([]);
    const started = log.events[0];
    if (started !== undefined) expect(view.push(started)).toEqual([]);
    expect(view.response()).toMatchObject({ status: 'in_progress', usage: null });
    expect(next().length).toBeGreaterThan(0);
  });

  test('E-114: what a sub-agent does is no output', () => {
    expect(afterStart([{ ...place, agentPath: ['helper'], block: 0, type: 'text-delta', data: 'x' }])).toEqual([]);
  });

  test('UR-33: a message that no step read is named at the end, and only then', () => {
    const { log, view, next } = begun();
    log.step({ blocks: [text('t')] });
    const content = [{ type: 'text', text: 'left' }] as const;
    log.add({ step: 1, attempt: 0, type: 'user-message', data: { messageId: 'm1', mode: 'steer', content } });
    next();
    expect(view.response().metadata).not.toHaveProperty('reins_undelivered');
    log.end(cancelled);
    next();
    expect(view.response().metadata).toMatchObject({ reins_undelivered: ['m1'] });
  });

  test('UD-48, UD-58: usage, degraded parts and what could not be stopped', () => {
    const { log, view, next } = begun();
    const usage = {
      inputTokens: 10,
      outputTokens: 5,
      cacheReadInputTokens: null,
      cacheCreationInputTokens: 2,
      thinkingTokens: 1,
    };
    log.step({ blocks: [call('c')], usage, degraded: ['mcp:docs'] });
    log.step({ blocks: [text('t')], usage: null });
    log.end({ ...cancelled, unstopped: ['process 7'] });
    next();
    const { usage: shown, metadata } = view.response();
    expect(shown).toEqual({ input_tokens: 10, output_tokens: 5, total_tokens: 15, cache_write_tokens: 2 });
    expect(metadata).toMatchObject({
      reins_usage_incomplete: true,
      reins_degraded: ['mcp:docs'],
      reins_unstopped: ['process 7'],
    });
  });

  test('UD-53, UD-58: files that are no artifacts for want of room, or because nobody could look, are named as missing', () => {
    const { log, view, next } = begun();
    log.step({ blocks: [text('t')] });
    for (const reason of ['deltas_lost', 'files-unchecked', 'files-limit'] as const)
      log.add({ type: 'gap', step: 1, attempt: 0, data: { reason } });
    next();
    expect(view.response().metadata).toMatchObject({ reins_degraded: ['files:unchecked', 'files:limit'] });
  });
});

describe('E-115, UT-16: attempts that were given up', () => {
  const first = [thinking('h', 'm'), text('a', 'b'), call('c')];
  const retries: Record<string, BlockScript[]> = {
    fewer: [text('z')],
    more: [thinking('1'), text('2'), text('3'), call('x'), call('y')],
  };
  const shownCounts = Array.from({ length: 8 }, (_, shown) => shown);
  const rows = shownCounts.flatMap((shown) =>
    Object.entries(retries).map(([name, blocks]) => ({ shown, name, blocks })),
  );

  test.each(rows)('$shown deltas, then $name items', ({ shown, blocks }) => {
    const { log, view, next } = begun({ reinsEvents: true });
    log.step({ abandoned: [{ blocks: first, shown, reason: 'transient-error' }], blocks });
    log.end(done);
    const events = next();
    const resets = events.filter((event) => event.type === 'reins.attempt_reset');
    expect(resets.map((event) => ({ ...event, sequence_number: 0 }))).toEqual(
      shown === 0
        ? []
        : [
            {
              type: 'reins.attempt_reset',
              sequence_number: 0,
              output_index: 0,
              attempt: 1,
              reason: 'transient-error',
              retry_in_ms: 500,
            },
          ],
    );
    const resetAt = events.findIndex((event) => event.type === 'reins.attempt_reset');
    const before = events.slice(0, Math.max(0, resetAt));
    expect(lines(before).filter((line) => line.startsWith('function_call_arguments.done'))).toEqual([]);
    const closed = before.filter((event) => event.type === 'response.output_item.done');
    expect(closed.map((event) => event.item.status)).toEqual(closed.map(() => 'incomplete'));
    const { output } = view.response();
    const kept = outputOf([{ blocks }], done);
    expect(withoutIds(output.slice(0, kept.length))).toEqual(withoutIds(kept));
    expect(withoutIds(output.slice(kept.length))).toEqual(
      Array.from({ length: output.length - kept.length }, () => ({
        id: '',
        type: 'reasoning',
        summary: [],
        status: 'incomplete',
      })),
    );
  });

  test('UD-23: later items fill the indexes that nobody reused', () => {
    const { log, view, next } = begun();
    log.step({
      abandoned: [{ blocks: [thinking('h'), text('a'), text('b')], shown: 3, reason: 'stalled' }],
      blocks: [call('c')],
    });
    log.step({ blocks: [text('end')] });
    log.end(done);
    next();
    const { output } = view.response();
    expect(output.map((item) => item.type)).toEqual(['function_call', 'function_call_output', 'message']);
  });
});

describe('UD-25: items that are open at the end', () => {
  const open: [Ending, string][] = [
    [cancelled, 'incomplete'],
    [
      { status: 'failed', stopReason: null, error: { type: 'ProviderError', message: 'm', retryable: false } },
      'incomplete',
    ],
    [{ status: 'completed', stopReason: 'max-time', budget: 'time' }, 'incomplete'],
  ];
  test.each(open)('%j: text in mid-reply is kept as incomplete', (ending, status) => {
    const whole = createLogBuilder();
    whole.start();
    whole.step({ blocks: [text('half', ' a')] });
    const cut = whole.cut(3);
    cut.end(ending);
    const view = createUhpView({ runId, sessionId, reinsEvents: false, emit: false });
    for (const event of cut.events) view.push(event);
    expect(view.response().output).toMatchObject([{ type: 'message', status, content: [{ text: 'half' }] }]);
  });

  test('UD-03: a final message that was cut at the output limit is incomplete', () => {
    const output = outputOf([{ blocks: [text('half')], finishReason: 'max-tokens' }], {
      status: 'completed',
      stopReason: 'max-tokens',
    });
    expect(output[0]?.status).toBe('incomplete');
  });
});

const pendingTool: PendingTool = {
  approvalId: approvalIds.make('1'),
  kind: 'approval',
  executionKey: 'k',
  runId,
  step: 1,
  replay: 'manual',
  toolAttempt: 0,
  call: { id: 'c', name: 'tool', input: { a: 1 } },
  argsDigest: 'd',
  status: 'pending',
  requestedAtMs: 1_786_400_000_500,
  expiresAtMs: null,
};
const approval = {
  id: 'apr_1',
  object: 'reins.approval',
  kind: 'approval',
  status: 'pending',
  call_id: 'c',
  arguments: '{"a":1}',
  requested_at: 1_786_400_000,
  decision: null,
};
const bare = { provider: 'p', model: 'a' };
const todo = { content: 'x', status: 'pending' } as const;

describe('UD-82: Reins’ own events, only where they were asked for', () => {
  const rows: [EventDraft, object][] = [
    [
      { ...place, type: 'waiting', data: { on: 'model', seconds: 12.5 } },
      { type: 'reins.waiting', on: 'model', seconds: 12.5, name: null },
    ],
    [
      { ...place, type: 'waiting', data: { on: 'tool', name: 'bash', seconds: 25, lastByteMs: 1_234 } },
      { type: 'reins.waiting', on: 'tool', seconds: 25, name: 'bash', heard_seconds_ago: 1.2 },
    ],
    [
      { ...place, type: 'todos-updated', data: { todos: [todo], completed: 0, total: 1, inProgress: null } },
      { type: 'reins.todos_updated', todos: [todo], completed: 0, total: 1, in_progress: null },
    ],
    [
      { ...place, type: 'approval-required', data: pendingTool },
      { type: 'reins.approval_required', approval },
    ],
    [
      { ...place, type: 'recovery-required', data: { ...pendingTool, kind: 'recovery', status: 'uncertain' } },
      { type: 'reins.recovery_required', approval: { ...approval, kind: 'recovery', status: 'uncertain' } },
    ],
    [
      {
        ...place,
        type: 'user-message',
        data: { messageId: 'm1', mode: 'steer', content: [{ type: 'text', text: 'left' }] },
      },
      { type: 'reins.user_message', message_id: 'm1', text: 'left' },
    ],
    [
      {
        ...place,
        type: 'model-switched',
        data: { kind: 'failover', from: bare, to: { ...bare, model: 'b' }, reason: 'r' },
      },
      { type: 'reins.model_switched', from: 'a', to: 'b', reason: 'r' },
    ],
    [
      {
        ...place,
        type: 'compacted',
        data: { trigger: 'auto', method: 'trim', tokensBefore: 9, tokensAfter: 4, throughSeq: 1, usage: null },
      },
      { type: 'reins.compacted', trigger: 'auto', tokens_before: 9, tokens_after: 4 },
    ],
    [
      { ...place, type: 'file-changed', data: { kind: 'create', path: 'a', bytes: 3 } },
      { type: 'reins.file_changed', kind: 'create', path: 'a', bytes: 3 },
    ],
    [
      { ...place, type: 'budget-reached', data: { budget: 'time', limit: 2, used: 3, then: 'stop' } },
      { type: 'reins.budget_reached', budget: 'time', limit: 2, used: 3 },
    ],
    [
      { ...place, type: 'gap', data: { reason: 'deltas_lost' } },
      { type: 'reins.gap', reason: 'deltas_lost' },
    ],
  ];
  test.each(rows)('%j', (draft, expected) => {
    for (const reinsEvents of [true, false]) {
      const { log, next } = begun({ reinsEvents });
      log.add(draft);
      const events = next().slice(1);
      if (reinsEvents) expect(events).toMatchObject([expected]);
      else expect(events).toEqual([]);
    }
  });

  test('a tool result follows its output item with a summary', () => {
    const { log, next } = begun({ reinsEvents: true });
    log.step({ blocks: [call('c', 'error', 'no such file')] });
    expect(next().at(-1)).toMatchObject({
      type: 'reins.tool_result',
      call_id: 'c',
      name: 'tool',
      ok: false,
      summary: 'tool · ✗ failed · no such file',
    });
  });

  test('UR-03: open decisions are counted on the response until they are decided', () => {
    const { log, view, next } = begun({ reinsEvents: true });
    log.add({ ...place, type: 'approval-required', data: pendingTool });
    next();
    expect(view.response().metadata['reins_pending']).toBe(1);
    const { approvalId, executionKey, kind } = pendingTool;
    log.add({
      ...place,
      type: 'approval-decided',
      data: { approvalId, executionKey, kind, decision: 'approve', by: 'owner' },
    });
    expect(next()).toMatchObject([
      { type: 'reins.approval_decided', approval: { status: 'approved', decision: { by: 'owner' } } },
    ]);
    expect(view.response().metadata).not.toHaveProperty('reins_pending');
  });

  test('E-612: what a sub-agent asks is shown with the way to it, under its own call', () => {
    const { log, next } = begun({ reinsEvents: true });
    const asked = { ...pendingTool, agentPath: ['helper', 'digger'] };
    log.add({ ...place, type: 'approval-required', data: asked });
    const shown = { agent_path: ['helper', 'digger'], call_id: 'c', response_id: runId };
    expect(next().at(-1)).toMatchObject({ type: 'reins.approval_required', approval: shown });
  });

  test('UR-03: a leg that waits ends nothing; output that is only shown while a tool works is no output', () => {
    const { log, view, next } = begun();
    log.step({ blocks: [{ kind: 'call', id: 'c', pieces: ['{}'], outcome: 'ok', content: 'r', output: ['live'] }] });
    log.add({ ...place, type: 'approval-required', data: pendingTool });
    const parked = parkRun(log.state, { status: 'awaiting-input' }, 5);
    for (const draft of parked) log.add(draft);
    next();
    expect(view.ended).toBe(false);
    expect(view.response()).toMatchObject({ status: 'in_progress', metadata: { reins_pending: 1 } });
    expect(view.response().output).toMatchObject([{ type: 'function_call' }, { output: 'r' }]);
  });
});

test('V4: the fold holds 100,000 deltas of one block as one text', () => {
  const view = createUhpView({ runId, sessionId, reinsEvents: false, emit: false });
  const { log } = begun();
  for (const event of log.events) view.push(event);
  const delta: EventDraft | RunEvent = { ...place, block: 0, type: 'text-delta', data: 'word ' };
  for (let count = 0; count < 100_000; count++) view.push(delta);
  expect(view.response().output).toMatchObject([{ content: [{ text: 'word '.repeat(100_000) }] }]);
  expect(view.sequence).toBe(100_000 + 4);
});
