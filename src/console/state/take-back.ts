import { firstOfTurn } from './page.ts';
import { saveDraft } from './save-draft.ts';
import { stay, withEffects, type Reduced } from './reduced.ts';
import { turnOf, type Attachment, type ConsoleState } from './state.ts';

/** What a person has to say before anything else: in front of what they have written since. */
export function backInComposer(
  state: ConsoleState,
  { text, attachments }: { readonly text: string; readonly attachments: readonly string[] },
): ConsoleState {
  const { draft, attachments: others } = state.composer;
  const files = attachments.map((fileId): Attachment => ({ kind: 'ready', id: fileId, name: fileId, fileId }));
  return {
    ...state,
    composer: {
      ...state.composer,
      draft: draft === '' ? text : `${text}\n\n${draft}`,
      attachments: [...files, ...others],
    },
  };
}

/** The browser is signed in no more, and the message was not taken in: it is kept as one that was never sent. */
export function takeBack(state: ConsoleState): Reduced {
  const turn = turnOf(state);
  if (turn === null || turn.request.kind === 'named') return stay(state);
  const { effect } = turn.request;
  const first = firstOfTurn(state.rows, turn.id);
  const asked = state.rows[first];
  const message = effect.type === 'send' ? effect : { text: asked?.kind === 'user' ? asked.text : '', attachments: [] };
  const ready: ConsoleState = {
    ...state,
    rows: state.rows.slice(0, first),
    phase: { name: 'ready' },
    queue: { ...state.queue, resting: true },
  };
  const kept = backInComposer(ready, message);
  return withEffects(kept, saveDraft(kept), { type: 'detach', turn: turn.id });
}
