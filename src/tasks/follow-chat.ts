// A chat's stream: one UI message of a run, from its beginning or from a place in the log, to its end or to where it waits.
//
// S1. Every reader is a cursor of its own on the log, and an observer: leaving ends nothing (P-092, P-093).
// S2. A stream begins with `start` and ends with one of the chunks that end a message, or it was cut: the server closes, or
//     lost the log. Only what it says itself is a failure of the turn.
// S3. Where the run waits for a person the stream ends, once its reader has everything: the next one goes on (P-088).

import { createUiView, endsMessage, uiMessageId, type UiChunk, type UiForm, type UiView } from '../views/ui-view.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

export interface ChatPlace {
  readonly runId: RunId;
  /** Number of the UI message in its run. */
  readonly message: number;
  /** What the log says up to there the client has; 0: nothing. */
  readonly after: number;
}

/** @param errorId  Under which the operator finds what the client is not told. */
export async function* followChat(
  services: Services,
  place: ChatPlace,
  o: { readonly form: UiForm; readonly errorId: string; readonly signal: AbortSignal },
): AsyncGenerator<readonly UiChunk[]> {
  const { runId } = place;
  const view = createUiView(runId, o.form);
  const teller = createTeller(view, place);
  if (place.after > 0) yield teller.begin();
  try {
    for await (const events of services.log.follow(runId, { after: 0, signal: o.signal })) {
      for (const some of inPieces(events)) {
        const chunks = teller.tell(some);
        if (chunks.length > 0) yield chunks;
        if (teller.isOver) return;
      }
      if (view.stage === 'waiting' && (await isAll(services, runId, events)))
        return yield [...teller.begin(), { type: 'finish', finishReason: 'tool-calls' }];
    }
  } catch (cause) {
    services.logger.error('The events of a chat cannot be read.', { runId, error_id: o.errorId }, cause);
    yield [...teller.begin(), { type: 'error', errorText: `An error occurred. (${o.errorId})` }];
  }
}

interface Teller {
  /** What a stream begins with, unless it has begun. */
  begin(): readonly UiChunk[];
  tell(events: readonly RunEvent[]): readonly UiChunk[];
  readonly isOver: boolean;
}

/** The chunks of one message, out of those of its run. */
function createTeller(view: UiView, { runId, message, after }: ChatPlace): Teller {
  let [hasBegun, isOver] = [false, false];
  const begin = (): readonly UiChunk[] => {
    if (hasBegun) return [];
    hasBegun = true;
    return [{ type: 'start', messageId: uiMessageId(runId, Math.max(message, view.message)) }];
  };

  function* chosen(event: RunEvent): Generator<UiChunk> {
    let told = view.message;
    for (const chunk of view.push(event)) {
      if (chunk.type === 'start') told = view.message;
      // A message that no step took in has no other end than its run's.
      const isMine = told >= message || (view.stage === 'ended' && endsMessage(chunk));
      if (!isMine || event.seq <= after || isOver) continue;
      if (chunk.type === 'start') hasBegun = true;
      else yield* begin();
      yield chunk;
      isOver = endsMessage(chunk);
    }
  }

  return {
    begin,
    tell: (events) => events.flatMap((event) => [...chosen(event)]),
    get isOver() {
      return isOver;
    },
  };
}

/** Few enough to be sent at once, whatever they hold (P-093). */
function* inPieces(events: readonly RunEvent[]): Generator<readonly RunEvent[]> {
  for (let start = 0; start < events.length; start += 64) yield events.slice(start, start + 64);
}

/** Whether the log ends here: what waits in the middle of it has been decided since. */
async function isAll({ store }: Services, runId: RunId, events: readonly RunEvent[]): Promise<boolean> {
  return (await store.run(runId))?.lastSeq === events.at(-1)?.seq;
}
