import { approvalIds, fileIds } from '../core/ids.ts';
import { createLogBuilder, testRunId } from './log-builder.ts';
import { executionKeyOf, type EventDraft, type PendingTool, type RunEvent } from '../core/run-event.ts';

const model = { provider: 'demo', model: 'demo' };
const usage = {
  inputTokens: 10,
  outputTokens: 5,
  cacheReadInputTokens: 2,
  cacheCreationInputTokens: null,
  thinkingTokens: null,
};
const at = { step: 1, attempt: 2 };
const between = { step: 1, attempt: 0 };
const executionKey = executionKeyOf(testRunId, 1, 'c2');

function pending(name: string, kind: PendingTool['kind'], callId: string): PendingTool {
  return {
    approvalId: approvalIds.make(name),
    kind,
    executionKey: executionKeyOf(testRunId, 1, callId),
    runId: testRunId,
    step: 1,
    call: { id: callId, name: 'tool', input: { command: 'ls' } },
    argsDigest: 'digest',
    replay: 'manual',
    toolAttempt: 0,
    status: kind === 'recovery' ? 'uncertain' : 'pending',
    requestedAtMs: 5,
    expiresAtMs: null,
    ...(kind === 'question' ? { questions: [{ id: 'q', question: 'Which?', options: ['a', 'b'] }] } : {}),
  };
}

const call = { id: 'c2', name: 'tool', input: { command: 'ls' }, executionKey };
const said = { ...between, type: 'approval-decided' } as const;
const word = { executionKey, by: 'somebody', note: 'go on' };

const drafts: readonly EventDraft[] = [
  {
    ...between,
    type: 'user-message',
    data: { messageId: 'm1', content: [{ type: 'text', text: 'Go.' }], mode: 'steer' },
  },
  { ...between, type: 'step-started', data: { purpose: 'reply', model, replyBudget: 100, degraded: ['mcp:x'] } },
  { ...between, attempt: 1, type: 'waiting', data: { on: 'model', seconds: 1.5, lastByteMs: 3 } },
  {
    ...between,
    type: 'model-switched',
    data: { kind: 'failover', from: model, to: { provider: 'demo', model: 'other' }, reason: 'busy' },
  },
  { step: 1, attempt: 1, block: 0, type: 'text-delta', data: 'given up' },
  {
    step: 1,
    attempt: 1,
    type: 'attempt-reset',
    data: { step: 1, attempt: 1, nextAttempt: 2, reason: 'stalled', shown: true, retryInMs: 10 },
  },
  { ...at, block: 0, type: 'thinking-delta', data: 'Hm.' },
  { ...at, block: 1, type: 'text-delta', data: 'One ' },
  { ...at, block: 2, type: 'tool-call-delta', data: { id: 'c1', name: 'ask', partialJson: '' } },
  { ...at, block: 2, type: 'tool-call-delta', data: { id: 'c1', name: 'ask', partialJson: '{}' } },
  { ...at, block: 3, type: 'tool-call-delta', data: { id: 'c2', name: 'tool', partialJson: '' } },
  { ...at, block: 1, type: 'text-delta', data: 'two.' },
  { ...at, block: 3, type: 'tool-call-delta', data: { id: 'c2', name: 'tool', partialJson: '{"command":' } },
  { ...at, block: 3, type: 'tool-call-delta', data: { id: 'c2', name: 'tool', partialJson: '"ls"}' } },
  { ...between, type: 'gap', data: { reason: 'deltas_lost', step: 1, attempt: 2 } },
  { ...at, type: 'thinking-complete', data: 'Hm.' },
  { ...at, type: 'text-complete', data: 'One two, and more.' },
  {
    ...at,
    type: 'turn-complete',
    data: {
      finishReason: 'tool-use',
      rawFinishReason: 'tool_use',
      parts: [
        { block: 0, kind: 'thinking', start: 0, end: 3 },
        { block: 1, kind: 'text', start: 0, end: 18 },
        { block: 2, kind: 'tool-call', id: 'c1' },
        { block: 3, kind: 'tool-call', id: 'c2' },
      ],
      calls: [
        { id: 'c1', name: 'ask', arguments: '{}' },
        { id: 'c2', name: 'tool', arguments: '{"command":"ls"}' },
      ],
      usage,
      usageIncomplete: false,
      served: { provider: 'demo', model: 'other' },
    },
  },
  { ...between, type: 'approval-required', data: pending('1', 'question', 'c1') },
  { ...between, type: 'approval-required', data: pending('2', 'approval', 'c2') },
  { ...said, data: { ...word, approvalId: approvalIds.make('2'), kind: 'approval', decision: 'approve' } },
  {
    ...said,
    data: {
      ...word,
      executionKey: executionKeyOf(testRunId, 1, 'c1'),
      approvalId: approvalIds.make('1'),
      kind: 'question',
      decision: 'answer',
      output: { content: 'a', isError: false },
    },
  },
  {
    ...at,
    type: 'tool-call-start',
    data: { id: 'c1', name: 'ask', input: {}, executionKey: executionKeyOf(testRunId, 1, 'c1'), willRun: false },
  },
  { ...at, type: 'tool-call-start', data: { ...call, willRun: true } },
  {
    ...at,
    type: 'tool-dispatched',
    data: {
      id: 'c2',
      executionKey,
      toolAttempt: 1,
      argsDigest: 'digest',
      replay: 'manual',
      timeoutMs: 1000,
      authority: 'approval:apr_2',
    },
  },
  { ...at, type: 'tool-output-delta', data: { id: 'c2', name: 'tool', text: 'a.ts' } },
  { ...between, type: 'recovery-required', data: pending('3', 'recovery', 'c2') },
  { ...said, data: { ...word, approvalId: approvalIds.make('3'), kind: 'recovery', decision: 'result' } },
  {
    ...at,
    type: 'tool-call-complete',
    data: { ...call, outcome: 'ok', toolAttempt: 1, durationMs: 7, usage: null, _raw: null },
  },
  {
    ...at,
    type: 'tool-result',
    data: {
      toolCallId: 'c2',
      name: 'tool',
      content: 'a.ts',
      isError: false,
      spill: { ref: 'sha256:1', bytes: 4 },
      media: [{ ref: 'sha256:2', bytes: 9, mediaType: 'image/png' }],
    },
  },
  {
    ...at,
    type: 'tool-call-complete',
    data: {
      id: 'c1',
      name: 'ask',
      input: {},
      executionKey: executionKeyOf(testRunId, 1, 'c1'),
      outcome: 'answered',
      toolAttempt: 0,
      durationMs: 0,
      _raw: null,
    },
  },
  { ...at, type: 'tool-result', data: { toolCallId: 'c1', name: 'ask', content: 'a', isError: true } },
  {
    ...between,
    type: 'todos-updated',
    data: { todos: [{ content: 'Look', status: 'in_progress' }], completed: 0, total: 1, inProgress: 'Look' },
  },
  {
    ...between,
    type: 'file-changed',
    data: { kind: 'create', path: 'a.ts', executionKey, bytes: 3, sha256: 'x', fileId: fileIds.make('1') },
  },
  {
    ...between,
    type: 'compacted',
    data: { trigger: 'overflow', method: 'summary', tokensBefore: 9, tokensAfter: 3, throughSeq: 4, usage },
  },
  {
    ...between,
    type: 'step-finished',
    data: {
      finishReason: 'tool-use',
      usage,
      usageIncomplete: true,
      served: { provider: 'demo', model: 'other' },
      requested: model,
      calls: 2,
      attempts: 2,
      durationMs: 12,
    },
  },
  { ...between, agentPath: ['helper'], type: 'text-delta', data: 'of a sub-agent' },
];

/** Every type of event at least once; a run that failed. Tools answered out of order, a text that lost deltas, a sub-agent. */
export function logOfAllTypes(): readonly RunEvent[] {
  const log = createLogBuilder();
  log.start();
  for (const draft of drafts) log.add(draft);
  log.end({
    status: 'failed',
    stopReason: null,
    error: { type: 'ProviderError', message: 'The provider failed.', retryable: true, status: 500 },
    budget: 'time',
  });
  return log.events;
}
