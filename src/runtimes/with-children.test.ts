import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { MemoryLog } from './memory-log.ts';
import { type EventDraft, type PendingTool, type RunEvent } from '../core/run-event.ts';
import { noBudgets } from '../core/run-config.ts';
import { runIds, sessionIds } from '../core/ids.ts';
import { withChildren, type FollowChild } from './with-children.ts';
import type { RunResultData } from '../core/outcome.ts';

const [parentId, childId] = [runIds.make('parent'), runIds.make('child')];
const place = { step: 1, attempt: 1 };
const draft = (given: Pick<EventDraft, 'type' | 'data'>) => ({ ...given, ...place }) as EventDraft;

const started = (leg: number) =>
  draft({
    type: 'run-started',
    data: {
      leg,
      cause: 'submit',
      model: { provider: 'p', model: 'm' },
      limits: noBudgets,
      agent: { name: 'helper', version: null, digest: '' },
    },
  });
const text = (data: string) => draft({ type: 'text-delta', data });
const waiting = (seconds: number) => draft({ type: 'waiting', data: { on: 'tool', seconds } });
const steering = draft({ type: 'user-message', data: { messageId: 'm', content: [], mode: 'steer' } });
const asks = draft({ type: 'approval-required', data: { kind: 'approval' } as PendingTool });
const result = draft({ type: 'run-result', data: { status: 'completed' } as RunResultData });
const dispatched = draft({
  type: 'tool-dispatched',
  data: {
    id: 'c',
    executionKey: 'k',
    toolAttempt: 1,
    argsDigest: '',
    replay: 'idempotent',
    timeoutMs: null,
    authority: 'policy',
    childRunId: childId,
  },
});
const answered = draft({
  type: 'tool-result',
  data: { toolCallId: 'c', name: 'delegate_helper', content: '', isError: false },
});

type Write = readonly ['parent' | 'child', EventDraft];

/** A call that is delegated, waits for a person in between, and goes on. `notices`: in the parent's log while it waits. */
const script = (notices: number): readonly Write[] => [
  ['parent', started(1)],
  ['parent', dispatched],
  ['child', started(1)],
  ['child', text('a')],
  ...Array.from({ length: notices }, (_, n): Write => ['parent', n % 2 === 0 ? steering : waiting(n)]),
  ['child', text('b')],
  ['child', result],
  ['parent', asks],
  ['parent', dispatched],
  ['child', started(2)],
  ['child', text('c')],
  ['child', result],
  ['parent', answered],
  ['parent', result],
];

const tick = () => new Promise((resolve) => setImmediate(resolve));
const sign = (event: EventDraft, path: readonly string[] = []) =>
  `${path.join('/')}:${event.type}:${typeof event.data === 'string' ? event.data : 'leg' in event.data ? event.data.leg : ''}`;

test('E-905: whatever is said meanwhile, and whatever the pace, all events come once, a child between its dispatch and its answer', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(2), { minLength: 20, maxLength: 20 }),
      fc.nat(3),
      fc.boolean(),
      async (pauses, notices, patient) => {
        const parent = new MemoryLog(parentId, sessionIds.make('p'));
        const child = new MemoryLog(childId, sessionIds.make('c'));
        const follow: FollowChild = (_, after, signal) =>
          child.follow({ after, patient: patient && signal !== undefined, signal: signal ?? AbortSignal.abort() });
        const seen: RunEvent[] = [];
        const reader = (async () => {
          for await (const batch of withChildren(parent.follow({ after: 0, patient: true }), follow)) {
            seen.push(...batch);
            if ((pauses.at(-1) ?? 0) > 0) await tick();
          }
        })();
        for (const [at, [who, event]] of script(notices).entries()) {
          for (let turn = 0; turn < (pauses[at] ?? 0); turn++) await tick();
          (who === 'parent' ? parent : child).append([event], 0);
        }
        await reader;
        const isNotice = ({ type }: RunEvent) => type === 'waiting' || type === 'user-message';
        const quiet = seen.filter((event) => !isNotice(event)).map((event) => sign(event, event.agentPath));
        expect(quiet).toEqual(script(0).map(([who, event]) => sign(event, who === 'child' ? ['helper'] : [])));
        expect(seen.filter(isNotice)).toHaveLength(notices);
      },
    ),
    { numRuns: 300 },
  );
});

test('a child that never began is waited for no longer than its parent waits', async () => {
  const parent = new MemoryLog(parentId, sessionIds.make('p'));
  const child = new MemoryLog(childId, sessionIds.make('c'));
  parent.append([started(1), dispatched], 0);
  const follow: FollowChild = (_, after, signal) =>
    child.follow({ after, ...(signal === undefined ? {} : { signal, patient: true }) });
  const seen: string[] = [];
  const reader = (async () => {
    for await (const batch of withChildren(parent.follow({ after: 0 }), follow))
      seen.push(...batch.map(({ type }) => type));
  })();
  await tick();
  parent.append([answered, result], 0);
  await reader;
  expect(seen).toEqual(['run-started', 'tool-dispatched', 'tool-result', 'run-result']);
});
