import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../core/run-event.ts';
import { arbitraryLog } from './arbitrary-log.ts';
import { checkLog } from './check-log.ts';
import { createLogBuilder, testRunId } from './log-builder.ts';
import { decisionDraft, pendingOf } from './store-samples.ts';

test('E-941: every arbitrary log keeps the ordering laws', () => {
  fc.assert(
    fc.property(arbitraryLog, (events) => {
      expect(checkLog(events)).toEqual([]);
    }),
  );
});

test('E-940: every prefix of a valid log keeps them too', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.nat(60), (events, count) => {
      expect(checkLog(events.slice(0, count))).toEqual([]);
    }),
  );
});

function sample(): readonly RunEvent[] {
  const log = createLogBuilder();
  log.start();
  log.step({
    abandoned: [{ blocks: [{ kind: 'text', pieces: ['a'] }], shown: 1, reason: 'stalled' }],
    blocks: [
      { kind: 'thinking', pieces: ['h', 'm'] },
      { kind: 'call', id: 'c', pieces: ['{}'], outcome: 'ok', content: 'r', output: ['r'] },
    ],
  });
  log.step({ blocks: [{ kind: 'text', pieces: ['o', 'k'] }] });
  log.end({ status: 'completed', stopReason: 'end-turn' });
  return log.events;
}

/** The sample with one event of a type moved, doubled or left out, numbered anew. */
function broken(change: (events: RunEvent[]) => RunEvent[]): readonly string[] {
  return checkLog(change([...sample()]).map((event, index): RunEvent => ({ ...event, seq: index + 1 })));
}

const indexOf = (events: readonly RunEvent[], type: RunEvent['type']) =>
  events.findIndex((event) => event.type === type);
const without = (type: RunEvent['type']) => (events: RunEvent[]) => events.toSpliced(indexOf(events, type), 1);
const twice = (type: RunEvent['type']) => (events: RunEvent[]) => {
  const at = indexOf(events, type);
  return events.flatMap((event, index) => (index === at ? [event, event] : [event]));
};

describe('the checker finds each breach', () => {
  test('E-120: a hole in seq', () => expect(checkLog(sample().toSpliced(2, 1))[0]).toMatch(/^L1 at 4/));
  test.each([
    ['E-121', 'L2', without('run-started')],
    ['E-122', 'L3', twice('run-result')],
    ['E-123', 'L4', without('attempt-reset')],
    ['E-124', 'L5', twice('turn-complete')],
    ['E-125', 'L6', without('thinking-delta')],
    ['E-126', 'L7', twice('tool-call-start')],
    ['E-126', 'L7', without('tool-call-complete')],
    ['E-126', 'L7', without('tool-dispatched')],
    ['E-127', 'L8', without('tool-result')],
    ['E-127', 'L8', without('step-finished')],
    ['E-130', 'L11', twice('step-started')],
  ])('%s: %s', (_rule, law, change) => expect(broken(change).join('\n')).toContain(law));
});

test('E-612: what a sub-agent asks of people, and what they say, is not checked in the log of its parent', () => {
  const log = createLogBuilder();
  log.start();
  const data = pendingOf('a', testRunId);
  log.add({ type: 'approval-required', step: 1, attempt: 0, agentPath: ['scout'], data });
  log.add(decisionDraft(data, 'approve'));
  expect(checkLog(log.events)).toEqual([]);
  log.add({ type: 'approval-required', step: 1, attempt: 0, data: pendingOf('b', testRunId) });
  log.add(decisionDraft(pendingOf('b', testRunId), 'approve'));
  expect(checkLog(log.events)).toEqual([]);
  log.add(decisionDraft(pendingOf('b', testRunId), 'deny'));
  expect(checkLog(log.events)[0]).toMatch(/^L9/);
});
