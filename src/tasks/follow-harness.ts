// The live feed of a harness: the events of all its tasks, as they are committed (UD-79).
//
// H1. Live only: a task that runs already is folded silently up to where it stands; its next event is the first shown.
// H2. A reader that falls behind by more than the bound loses the feed, not the server its memory: it re-attaches to the
//     responses it had.
// H3. Tasks of other processes are in it as far as the store tells of them. What comes twice, or too early, because a task has
//     changed its process, is passed over: it comes in order from the other side.

import { followElsewhere } from './follow-elsewhere.ts';
import { createFeedFrames, feedOpening } from '../views/uhp-feed-frames.ts';
import { finalStatus } from './run-recorder.ts';
import { readHarness } from './read-harnesses.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

const maxWaitingChars = 4 * 1024 * 1024;

type Fold = ReturnType<typeof createFeedFrames>;
/** A task that is still being caught up with keeps its new events back until its past is folded (H1). */
type Follower = { readonly held: RunEvent[] } | { readonly fold: Fold; seen: number };

/**
 * Encoded frames, all that are there in each text; first the comment that says: from here on nothing is missed. Ends when
 * the signal aborts or the reader is too far behind.
 */
export async function* followHarness(
  services: Services,
  {
    principal,
    harnessId,
    signal,
  }: { readonly principal: string; readonly harnessId: string; readonly signal: AbortSignal },
): AsyncGenerator<string> {
  const { record } = await readHarness(services, principal, harnessId);
  const followers = new Map<RunId, Follower>();
  const outbox = createOutbox();
  const receive = (runId: RunId, events: readonly RunEvent[]) => {
    const [first] = events;
    const begins = first?.type === 'run-started' && first.data.leg === 1 && !followers.has(runId);
    if (begins && first.data.task?.harnessId === record.harnessId)
      followers.set(runId, { fold: createFeedFrames({ ...first, reinsEvents: first.data.task.reinsEvents }), seen: 0 });
    const follower = followers.get(runId);
    if (follower === undefined) return;
    if ('held' in follower) return void follower.held.push(...events);
    const fresh = events.filter(({ seq }) => seq > follower.seen);
    const last = fresh.at(-1);
    if (last === undefined || fresh[0]?.seq !== follower.seen + 1) return;
    follower.seen = last.seq;
    for (const event of fresh) for (const frame of follower.fold.push(event)) outbox.put(frame);
    if (last.type !== 'run-result' || finalStatus(last.data.status) === null) return;
    followers.delete(runId);
    elsewhere.settle(runId);
  };
  const after = (runId: RunId) => {
    const follower = followers.get(runId);
    return follower !== undefined && 'seen' in follower ? follower.seen : 0;
  };
  await using elsewhere = followElsewhere(services, { harnessId: record.harnessId, after, receive });
  const unsubscribe = services.log.onPublish(receive);
  signal.addEventListener('abort', outbox.close);
  try {
    for (const run of await services.store.unfinishedRuns())
      if (run.harnessId === record.harnessId && !followers.has(run.runId))
        await join(services, run.runId, { followers, receive });
    elsewhere.listen(followers.keys());
    yield feedOpening;
    for (let text = await outbox.take(); text !== ''; text = await outbox.take()) yield text;
  } finally {
    signal.removeEventListener('abort', outbox.close);
    unsubscribe();
  }
}

/** Folds the past of a running task silently, then lets its held events through. */
async function join(
  { log }: Services,
  runId: RunId,
  feed: { readonly followers: Map<RunId, Follower>; receive(runId: RunId, events: readonly RunEvent[]): void },
): Promise<void> {
  const held: RunEvent[] = [];
  feed.followers.set(runId, { held });
  let fold: Fold | null = null;
  let seen = 0;
  for await (const events of log.readAll(runId))
    for (const event of events) {
      if (fold === null && event.type === 'run-started')
        fold = createFeedFrames({ ...event, reinsEvents: event.data.task?.reinsEvents ?? false });
      fold?.push(event);
      seen = event.seq;
    }
  if (fold === null) return void feed.followers.delete(runId);
  feed.followers.set(runId, { fold, seen });
  feed.receive(
    runId,
    held.filter(({ seq }) => seq > seen),
  );
}

/** Frames on their way to one reader, bounded (H2). `take` gives '' once it is closed. */
function createOutbox() {
  let text = '';
  let closed = false;
  let wake = () => {};
  const close = () => {
    closed = true;
    wake();
  };
  return {
    put(frame: string) {
      if (closed) return;
      text += frame;
      if (text.length > maxWaitingChars) {
        text = '';
        close();
      }
      wake();
    },
    async take(): Promise<string> {
      if (text === '' && !closed) await new Promise<void>((resolve) => (wake = resolve));
      const taken = closed ? '' : text;
      text = '';
      return taken;
    },
    close,
  };
}
