import { applyDrafts } from '../../core/closing.ts';
import { closeAsked, type ClosedCalls } from './close-asked.ts';
import { goOnText } from './resume-words.ts';
import { TurnBook } from './turn-book.ts';
import type { AttachOptions } from '../harness.ts';
import type { EventDraft } from '../../core/run-event.ts';
import type { RunState } from '../../core/run-state.ts';

export interface ClosedLeg extends Pick<ClosedCalls, 'approved'> {
  readonly drafts: readonly EventDraft[];
  /** By which the runtime goes on. */
  readonly text: string;
}

/** What is open of a leg whose runtime is gone: calls that were asked about, then a reply that was cut, or the step (H-042). */
export function closeLeg(
  state: RunState,
  {
    cause,
    leftBy,
    model,
    nowMs,
  }: Pick<AttachOptions, 'cause' | 'leftBy'> & {
    /** As its provider names it. */
    readonly model: string;
    readonly nowMs: number;
  },
): ClosedLeg {
  const { drafts: asked, words, approved } = closeAsked(state, nowMs);
  const book = new TurnBook(state, model);
  book.fold(applyDrafts(state, asked, nowMs));
  const { open } = book.state;
  const isCut = open !== null && open.stage.at !== 'accepted';
  const cut = isCut
    ? book.take([{ is: 'reply-lost', reason: leftBy, retryInMs: 0 }], nowMs).drafts
    : book.endStep(nowMs);
  book.fold(applyDrafts(book.state, cut, nowMs));
  const text = words.length > 0 ? words.join('\n') : goOnText(state, cause);
  const said = book.take([{ is: 'engine-said', text, purpose: cause }], nowMs).drafts;
  return { drafts: [...asked, ...cut, ...said], text, approved };
}
