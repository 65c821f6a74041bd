// L15: what a `run-result` has to say by the events before it (E-134), reckoned from these alone, without the fold that the
// engine ends runs with. Its texts are the client model's to check (L16); what could not be stopped stands in no event.

import { addUsage, type Usage } from '../core/usage.ts';
import { costOf } from '../core/cost.ts';
import { canonicalJson } from '../core/json.ts';
import type { BudgetReached, RunEvent, RunEventOf } from '../core/run-event.ts';
import type { ModelRef, RunResultData, StopReason } from '../core/outcome.ts';

/** Fields of the log's last `run-result` that differ from what its events say; empty for a lawful log. */
export function resultBreaches(log: readonly RunEvent[]): readonly string[] {
  const end = log.findLast((event) => event.type === 'run-result');
  if (end === undefined) return [];
  const before = log.filter(({ seq, agentPath }) => seq < end.seq && !agentPath?.length);
  const expected = expectedResult(before, end);
  return Object.entries(expected).flatMap(([field, value]) => {
    const told = end.data[field as keyof RunResultData];
    const same = canonicalJson(JSON.parse(JSON.stringify(told))) === canonicalJson(JSON.parse(JSON.stringify(value)));
    return same ? [] : [`L15: ${field} is ${JSON.stringify(told)}, and by its log ${JSON.stringify(value)}`];
  });
}

type Expected = Omit<RunResultData, 'output' | 'partialOutput' | 'unstopped' | 'pending' | 'model'>;

function expectedResult(log: readonly RunEvent[], end: RunEventOf<'run-result'>): Expected & Record<string, unknown> {
  const of = <T extends RunEvent['type']>(type: T) =>
    log.filter((event): event is RunEventOf<T> => event.type === type);
  const [first, turns] = [of('run-started')[0], of('turn-complete')];
  const { status } = end.data;
  const { usage, usageIncomplete } = usageOf(log);
  const cost = costOf(usage, of('run-started').at(-1)?.data.limits ?? { inputCostPerM: null, outputCostPerM: null });
  const budget = of('budget-reached').at(-1)?.data ?? null;
  const read = of('step-started').at(-1)?.seq ?? 0;
  const said = of('user-message').filter(({ seq, data }) => seq > read && data.mode === 'steer');
  return {
    runId: end.runId,
    sessionId: end.sessionId,
    requestId: first?.data.requestId ?? null,
    status,
    stopReason:
      status === 'completed' ? stopReasonOf(budget, turns.at(-1)) : status === 'cancelled' ? 'cancelled' : null,
    usage,
    usageIncomplete,
    cost: { ...cost, estimated: cost.estimated || usageIncomplete },
    error: status === 'failed' ? (of('error').at(-1)?.data ?? null) : null,
    todos: of('todos-updated').at(-1)?.data.todos ?? null,
    steps: of('step-started').length,
    attempts: of('step-started').length + of('attempt-reset').length,
    undelivered: said.map(({ data }) => data.messageId),
    startedAtMs: first?.at ?? 0,
    endedAtMs: end.at,
    ...(status === 'awaiting-input' || status === 'paused' ? { pending: openOf(log) } : {}),
    ...modelOf(log, first?.data.model),
  };
}

/** Usage of finished steps, of compactions, and of what tools have started (E-062). */
function usageOf(log: readonly RunEvent[]): { usage: Usage | null; usageIncomplete: boolean } {
  let usage: Usage | null = null;
  let usageIncomplete = false;
  for (const event of log) {
    if (event.type === 'step-finished') usageIncomplete ||= event.data.usageIncomplete;
    else if (event.type === 'compacted')
      usageIncomplete ||= event.data.method === 'summary' && event.data.usage === null;
    else if (event.type === 'tool-call-complete')
      usageIncomplete ||= event.data.usage === null || event.data.usageIncomplete === true;
    else continue;
    usage = addUsage(usage, event.data.usage ?? null);
  }
  return { usage, usageIncomplete };
}

const reasonOfBudget: Record<BudgetReached['budget'], StopReason> = {
  steps: 'max-steps',
  'tool-rounds': 'max-steps',
  cost: 'max-cost',
  tokens: 'max-total-tokens',
  'output-tokens': 'max-tokens',
  time: 'max-time',
  loop: 'loop',
};

function stopReasonOf(budget: BudgetReached | null, last: RunEventOf<'turn-complete'> | undefined): StopReason | null {
  return budget === null ? (last?.data.finishReason ?? null) : reasonOfBudget[budget.budget];
}

/** What waits for a person: asked and not decided, of the step that is open. */
function openOf(log: readonly RunEvent[]): readonly unknown[] {
  const decided = new Set(log.flatMap(({ type, data }) => (type === 'approval-decided' ? [data.approvalId] : [])));
  return log.flatMap(({ type, data }) =>
    (type === 'approval-required' || type === 'recovery-required') && !decided.has(data.approvalId) ? [data] : [],
  );
}

/** Only where nothing was switched can it be told without the answer's text. */
function modelOf(log: readonly RunEvent[], requested: ModelRef | undefined): { model?: unknown } {
  if (requested === undefined || log.some(({ type }) => type === 'model-switched')) return {};
  const turns = log.flatMap(({ type, data }) => (type === 'turn-complete' ? (data.served ?? []) : []));
  return { model: { requested, served: turns.at(-1) ?? null, fallback: false, reason: null } };
}
