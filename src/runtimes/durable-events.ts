// Reading durable runs: by cursor, from whatever process drives them (E-007).
//
// O1. A reader ends with the leg that is open when it comes, or was last, or with the run, as it was asked for (E-051).
//     Words of people may stand behind the result of a leg: they belong to no leg.
// O2. A run that waits for nothing any more, or that shall end, and has yet to be taken up, is one whose next leg is open.
// O3. What retention removed is named once, before the first event behind it (E-151); so is what cannot be read (E-150).

import { CursorError, RuntimeStateError } from '../core/errors.ts';
import { sleep } from '../core/clock.ts';
import { endsLog } from '../stores/event-shape.ts';
import { isOutage, overOutages } from './over-outages.ts';
import { withChildren } from './with-children.ts';
import type { RunEvent, RunEventOf } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from '../tasks/services.ts';

export interface EventsOptions {
  /** A cursor: events behind it. Absent: from the first. */
  readonly after?: string;
  /** `leg`: to the result of the leg that is open now, or was last. `run`: over parks, to the end. */
  readonly follow?: 'leg' | 'run';
  /** With the events of sub-agents among them (E-905). */
  readonly children?: boolean;
  /** Aborting it ends the wait, never the run (E-036). */
  readonly signal?: AbortSignal;
}

type Sources = Pick<Services, 'store' | 'log' | 'clock'>;
/** A run that another process begins is looked for as often. */
const pollMs = 1_000;

type Batches = AsyncGenerator<readonly RunEvent[]>;
type ResultEvent = RunEventOf<'run-result'>;

interface ReadOptions extends Pick<EventsOptions, 'follow' | 'children'> {
  readonly after: number;
  readonly signal: AbortSignal;
}

/** @throws CursorError  `after` lies ahead of the log (E-054). */
export function followDurable(sources: Sources, runId: RunId, options: ReadOptions): Batches {
  const own = followOwn(sources, runId, options);
  if (options.children !== true) return own;
  return withChildren(own, (child, after, signal) =>
    signal === undefined ? readRest(sources, child, after) : followChild(sources, child, { after, signal }),
  );
}

async function* followOwn(sources: Sources, runId: RunId, o: ReadOptions): Batches {
  const { store } = sources;
  const { after, signal, follow = 'leg' } = o;
  const run = await store.run(runId);
  const last = run?.lastSeq ?? 0;
  if (after > last) throw new CursorError('This cursor lies ahead of its run.');
  const end = run === null || (follow === 'run' && run.status === 'running') ? null : await legEnd(sources, run);
  if (end !== null && after >= end) return;
  const isEnd = (event: RunEvent) =>
    event.type === 'run-result' && (endsLog(event) || (follow === 'leg' && event.seq >= (end ?? last + 1)));
  const holes = nameHoles(after, last);
  if (run === null) return;
  for await (const stored of overOutages(sources, runId, { sessionId: run.sessionId, after, signal })) {
    const at = stored.findIndex(isEnd);
    yield holes(at === -1 ? stored : stored.slice(0, at + 1));
    if (at !== -1) return;
  }
}

/** The number of the result that ended the last leg; null while one is open, or is about to be (O2). */
async function legEnd({ store, log }: Sources, run: RunRecord): Promise<number | null> {
  const { runId, principal, status, phase, control, lastSeq } = run;
  if (status !== 'running') return lastSeq;
  if (phase === 'active' || control === 'cancel') return null;
  if (phase === 'waiting' && control === 'none') {
    const open = await store.approvals({ principal, runId, status: 'open', limit: 1 });
    if (open.length === 0) return null;
  }
  const [last] = await store.readEvents(runId, { after: lastSeq - 1, limit: 1 });
  if (last?.type === 'run-result') return lastSeq;
  let end: number | null = null;
  for await (const events of log.readAll(runId, { committedOnly: true }))
    end = events.findLast(({ type }) => type === 'run-result')?.seq ?? end;
  return end;
}

/** The result of the leg that is open now, or was last; of the run, where that is asked for. */
export async function resultOf(
  sources: Sources,
  runId: RunId,
  { follow = 'leg', signal }: Pick<EventsOptions, 'follow' | 'signal'>,
): Promise<ResultEvent> {
  const { store, log } = sources;
  const run = await store.run(runId);
  const end = run === null || (follow === 'run' && run.status === 'running') ? null : await legEnd(sources, run);
  const after = end === null ? (run?.lastSeq ?? 0) : end - 1;
  for await (const events of log.follow(runId, { after, ...(signal === undefined ? {} : { signal }) })) {
    const result = events.find((event) => event.type === 'run-result' && (follow === 'leg' || endsLog(event)));
    if (result?.type === 'run-result') return result;
  }
  signal?.throwIfAborted();
  throw new RuntimeStateError('This runtime was closed before the run came to rest.');
}

/** What is there of a run is all there will be. */
async function* readRest({ store, log }: Sources, runId: RunId, after: number): Batches {
  const last = (await store.run(runId))?.lastSeq ?? 0;
  if (after >= last) return;
  for await (const events of log.follow(runId, { after })) {
    yield events;
    if ((events.at(-1)?.seq ?? last) >= last) return;
  }
}

/** A sub-agent's run, which may have yet to begin: whoever is told of it can be there first. */
async function* followChild(
  { store, log, clock }: Sources,
  runId: RunId,
  o: { readonly after: number; readonly signal: AbortSignal },
): Batches {
  const begun = new AbortController();
  const unsubscribe = log.onPublish((published) => void (published === runId && begun.abort()));
  const news = AbortSignal.any([o.signal, begun.signal]);
  try {
    while (!o.signal.aborted && (await store.run(runId)) === null) await sleep(clock, pollMs, news);
  } finally {
    unsubscribe();
  }
  yield* log.follow(runId, o);
}

/** Puts a gap before the first event behind a hole (O3): what follows, up to the end, are facts alone. */
function nameHoles(after: number, last: number): (events: readonly RunEvent[]) => readonly RunEvent[] {
  let next = after + 1;
  let named = false;
  return (events) => {
    const from = next;
    next = (events.at(-1)?.seq ?? after) + 1;
    if (isOutage(events[0])) return events;
    if (named || next - from === events.length) return events;
    named = true;
    const at = events.findIndex(({ seq }, index) => seq !== from + index);
    const behind = events[at];
    if (behind === undefined) return events;
    const { v, runId, sessionId, at: atMs, leg, step } = behind;
    const place = { v, runId, sessionId, at: atMs, leg, step, attempt: 0, seq: from + at - 1 };
    const data = { reason: 'events_pruned', from: from + at, to: Math.max(last, behind.seq) - 1 } as const;
    return [...events.slice(0, at), { ...place, type: 'gap', data }, ...events.slice(at)];
  };
}
