// What a person writes and chooses before it goes out (C-045 to C-047).

import { backInComposer } from './take-back.ts';
import { addChip, changeChip } from './queue.ts';
import { responseIdOf } from './load-earlier.ts';
import { sendNext, startTurn } from './run-turn.ts';
import { stay, withEffects, withRows, type Reduced } from './reduced.ts';
import { saveDraft } from './save-draft.ts';
import { turnOf, type Attachment, type Composer, type ConsoleState } from './state.ts';
import { utf8Bytes } from './utf8.ts';
import { withNotice } from './notices.ts';

export const maxDraftBytes = 262_144;

export function submit(state: ConsoleState, id: string, atMs: number): Reduced {
  const { draft, attachments } = state.composer;
  const { phase, session } = state;
  if (phase.name === 'boot' || session.kind === 'missing' || session.kind === 'loading') return stay(state);
  const busy = phase.name === 'busy' || phase.name === 'stopping';
  if (draft.trim() === '') return busy ? stay(state) : submitNothing(state, id, atMs);
  const bytes = utf8Bytes(draft);
  if (bytes > maxDraftBytes)
    return withNotice(state, {
      id: 'too-long',
      text: `The message has ${bytes} bytes; ${maxDraftBytes} are allowed. Attach a longer text as a file.`,
    });
  if (attachments.some(({ kind }) => kind === 'uploading'))
    return withNotice(state, { id: 'uploading', text: 'A file is still on its way; send when it is there.' });
  const failed = attachments.find(({ kind }) => kind === 'failed');
  if (failed !== undefined)
    return withNotice(state, {
      id: 'uploading',
      text: `${failed.name} did not reach the server: remove it, or attach it again, then send.`,
    });
  const files = attachments.flatMap((file) => (file.kind === 'ready' ? [file.fileId] : []));
  const cleared: ConsoleState = { ...state, composer: { ...state.composer, draft: '', attachments: [] } };
  const message = { id, text: draft, attachments: files };
  if (!busy) return startTurn(cleared, message, atMs);
  const added = addChip(cleared, message);
  return { state: added.state, effects: [...added.effects, saveDraft(added.state)] };
}

/** A queue that rests goes on; otherwise there is nothing to send. */
function submitNothing(state: ConsoleState, id: string, atMs: number): Reduced {
  if (state.queue.chips.length > 0) return sendNext({ ...state, queue: { ...state.queue, resting: false } }, atMs);
  if (state.composer.attachments.length > 0)
    return withNotice(state, { id: 'uploading', text: 'Say what is to be done with the files.' });
  return stay(
    withRows(state, [
      ...state.rows,
      { kind: 'error', id: `${id}/0`, turn: id, place: 0, text: 'The message is empty.' },
    ]),
  );
}

/** With what it is now kept as in this browser. */
export function kept(state: ConsoleState): Reduced {
  return withEffects(state, saveDraft(state));
}

export function changeComposer(state: ConsoleState, change: Partial<Composer>): ConsoleState {
  return { ...state, composer: { ...state.composer, ...change } };
}

export function recallChip(state: ConsoleState, id: string): Reduced {
  const chip = state.queue.chips.find((each) => each.id === id && each.state === 'waiting');
  if (chip === undefined) return stay(state);
  return kept(
    backInComposer(
      changeChip(state, id, () => null),
      chip,
    ),
  );
}

/** ↑ in an empty composer: the last message that waits, else the last prompt (C-070). */
export function recallPrompt(state: ConsoleState): Reduced {
  if (state.composer.draft !== '') return stay(state);
  const chip = state.queue.chips.findLast((each) => each.state === 'waiting');
  if (chip !== undefined) return recallChip(state, chip.id);
  const row = state.rows.findLast(({ kind }) => kind === 'user');
  return row?.kind === 'user' ? kept(changeComposer(state, { draft: row.text })) : stay(state);
}

/** The conversation branches: after this row's turn, or in its place where it is what was asked. */
export function forkAt(state: ConsoleState, rowId: string): Reduced {
  const at = state.rows.findIndex(({ id }) => id === rowId);
  const row = state.rows[at];
  if (row === undefined || state.phase.name !== 'ready' || state.session.kind !== 'open') return stay(state);
  const focus = { type: 'focus', target: { kind: 'composer' } } as const;
  if (row.kind !== 'user')
    return withEffects(
      changeComposer(state, { fork: { kind: 'after', responseId: responseIdOf(state, row.turn) } }),
      focus,
    );
  const before = state.rows.slice(0, at).findLast(({ turn }) => turn !== row.turn);
  const draft = { draft: row.text };
  if (before !== undefined)
    return withEffects(
      changeComposer(state, { ...draft, fork: { kind: 'after', responseId: responseIdOf(state, before.turn) } }),
      focus,
    );
  // Nothing comes before the first message: it begins a session of its own.
  return state.earlier === 'none'
    ? withEffects(changeComposer(state, { ...draft, fork: { kind: 'start' } }), focus)
    : stay(state);
}

export function changeAttachment(state: ConsoleState, changed: Attachment): ConsoleState {
  const attachments = state.composer.attachments.map((each) => (each.id === changed.id ? changed : each));
  return changeComposer(state, { attachments });
}

/** From 90 % of the limit on (C-047); null below. */
export function draftCounter(draft: string): string | null {
  const bytes = utf8Bytes(draft);
  return bytes < maxDraftBytes * 0.9
    ? null
    : `${bytes.toLocaleString('en-GB')} of ${maxDraftBytes.toLocaleString('en-GB')} bytes`;
}

/** What the one button does now (C-032). */
export function buttonOf(state: ConsoleState): 'send' | 'stop' | 'stopping' | 'queue' {
  if (state.phase.name === 'stopping') return 'stopping';
  if (turnOf(state) === null) return 'send';
  return state.composer.draft.trim() === '' ? 'stop' : 'queue';
}
