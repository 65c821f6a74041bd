import { applyDrafts } from '../../core/closing.ts';
import { evolve, evolveLive, type RunState } from '../../core/run-state.ts';
import { isLive, type EventDraft, type RunEvent } from '../../core/run-event.ts';

/** Committed events that the log has taken in since it was told so last; undefined: the group, as it was (harness A5). */
export type Taken = readonly RunEvent[] | undefined;

/** No live event stands after a committed one in its group: it belongs to what that one began. */
export function groupsOf(drafts: readonly EventDraft[]): readonly (readonly EventDraft[])[] {
  const groups: EventDraft[][] = [];
  for (const draft of drafts) {
    const newest = groups.at(-1);
    const last = newest?.at(-1);
    if (newest === undefined || last === undefined || (isLive(draft.type) && !isLive(last.type))) groups.push([draft]);
    else newest.push(draft);
  }
  return groups;
}

/** The state after a group: its live events, then what the log took in. */
export function folded(
  state: RunState,
  drafts: readonly EventDraft[],
  { taken, nowMs }: { readonly taken: Taken; readonly nowMs: number },
): RunState {
  if (drafts.every(({ type }) => isLive(type))) return evolveLive(state, drafts);
  if (taken === undefined) return applyDrafts(state, drafts, nowMs);
  return taken.reduce(evolve, evolveLive(state, drafts));
}
