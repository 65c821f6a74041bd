import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyDrafts } from '../../core/closing.ts';
import { checkLog } from '../../testing/check-log.ts';
import { initialRunState, type RunState } from '../../core/run-state.ts';
import { type EventDraft, type RunEvent } from '../../core/run-event.ts';
import { noBudgets } from '../../core/run-config.ts';
import { runIds, sessionIds } from '../../core/ids.ts';
import { TurnBook } from './turn-book.ts';
import type { NativeFact } from './native-fact.ts';

const model = { provider: 'p', model: 'claude-sonnet-5.5' };
const started: EventDraft = {
  type: 'run-started',
  data: { leg: 1, cause: 'submit', model, limits: noBudgets, input: [{ content: [{ type: 'text', text: 'Go' }] }] },
  step: 0,
  attempt: 0,
};
const first = (): RunState => applyDrafts(initialRunState(runIds.make('1'), sessionIds.make('1')), [started], 0);

/** Each fact by itself, then the end; gates are allowed. */
function play(facts: readonly NativeFact[], nativeModel?: string): readonly EventDraft[] {
  let state = first();
  const book = new TurnBook(state, nativeModel);
  const all: EventDraft[] = [started];
  const write = (drafts: readonly EventDraft[]) => {
    all.push(...drafts);
    state = applyDrafts(state, drafts, 0);
    book.fold(state);
  };
  const take = ({ drafts, gates }: ReturnType<TurnBook['take']>) => {
    write(drafts);
    for (const gate of gates) write(book.begin(gate.call, 'policy'));
  };
  for (const fact of facts) take(book.take([fact], 0));
  if (book.isHolding) take(book.acceptAsKnown(0));
  write(book.end({ status: 'completed', stopReason: 'end-turn' }, 0));
  return all;
}

const breaches = (drafts: readonly EventDraft[]) =>
  checkLog(
    drafts.map((draft, index): RunEvent => ({
      v: 1,
      seq: index + 1,
      runId: runIds.make('1'),
      sessionId: sessionIds.make('1'),
      at: 0,
      leg: 1,
      ...draft,
    })),
  );
const typesOf = (drafts: readonly EventDraft[]) => drafts.map(({ type }) => type);
const accepted: NativeFact = { is: 'reply-accepted', finishReason: 'end-turn', raw: null, usage: null };

test('H-030: the name that its provider has for the model that was asked for is that model; another one is told of', () => {
  const facts = (served: string): NativeFact[] => [
    { is: 'reply-begun' },
    { is: 'served', model: served },
    { is: 'text', key: 't', text: 'Hi' },
    accepted,
  ];
  expect(typesOf(play(facts('claude-sonnet-5-5'), 'claude-sonnet-5-5'))).not.toContain('model-switched');
  expect(typesOf(play(facts('claude-haiku'), 'claude-sonnet-5-5'))).toContain('model-switched');
});

test('H-023: a whole that differs from its pieces wins; the gap is said, and nothing is shown twice', () => {
  const log = play([
    { is: 'reply-begun' },
    { is: 'text', key: 't', text: 'Hello wrold' },
    { is: 'text-whole', key: 't', text: 'Hello world' },
    { is: 'text-whole', key: 't', text: 'Hello world' },
    accepted,
  ]);
  expect(typesOf(log).filter((type) => type === 'gap')).toHaveLength(1);
  const place = { step: 1, attempt: 1 };
  expect(log).toContainEqual({ type: 'gap', data: { reason: 'deltas_lost', ...place }, ...place });
  expect(log).toContainEqual({ type: 'text-complete', data: 'Hello world', ...place });
  expect(breaches(log)).toEqual([]);
});

const call = fc.record({
  id: fc.constantFrom('a', 'b', 'c'),
  name: fc.constantFrom('x', 'y'),
  input: fc.constant({ n: 1 }),
});
const text = fc.string({ unit: 'binary', maxLength: 6 });
const key = fc.constantFrom('1', '2');
const anyFact = fc.oneof<fc.Arbitrary<NativeFact>[]>(
  fc.constant({ is: 'reply-begun' }),
  fc.record({
    is: fc.constantFrom('text' as const, 'thinking' as const, 'text-whole' as const, 'thinking-whole' as const),
    key,
    text,
  }),
  fc.record({ is: fc.constant('call-begun' as const), id: fc.constantFrom('a', 'b'), name: fc.constant('x') }),
  fc.record({ is: fc.constant('call-input' as const), id: fc.constantFrom('a', 'b'), piece: text }),
  fc.record({ is: fc.constant('call-whole' as const), call }),
  fc.constant(accepted),
  fc.constant({ is: 'reply-lost', reason: 'transient-error', retryInMs: 5 }),
  fc.record({ is: fc.constant('gate' as const), request: fc.string(), call }),
  fc.record({ is: fc.constant('call-running' as const), call }),
  fc.record({ is: fc.constant('call-output' as const), id: fc.constantFrom('a', 'b'), text }),
  fc.record({
    is: fc.constant('call-ended' as const),
    id: fc.constantFrom('a', 'b', 'c'),
    outcome: fc.constantFrom('ok' as const, 'error' as const, 'cancelled' as const),
    content: text,
  }),
  fc.record({ is: fc.constant('served' as const), model: fc.constantFrom('m', 'claude-sonnet-5.5') }),
  fc.constant({ is: 'engine-said', text: 'Go on.', purpose: 'continue' }),
);

test('whatever a runtime says, in whatever order, the log of it keeps the laws of order', () => {
  fc.assert(
    fc.property(fc.array(anyFact, { maxLength: 30 }), (facts) => {
      expect(breaches(play(facts))).toEqual([]);
    }),
    { numRuns: 400 },
  );
});
