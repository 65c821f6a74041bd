import type { ActionBody } from '../state/action.ts';
import type { ConsoleState } from '../state/state.ts';
import type { Effect } from '../state/effect.ts';
import type { UhpFile } from '../state/wire.ts';

/** What the panels need of whoever runs the page: its state, a place to say what happened, and the bytes of files. */
export interface ConsoleStore {
  readonly getState: () => ConsoleState;
  /** @returns  Ends it. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Stamped with the time. Done before it returns, or a field that is typed into loses its caret. */
  readonly dispatch: (action: ActionBody) => void;
  /** The effects that the page itself has to see to. @returns  Ends it. */
  readonly onPageEffect: (listener: (effect: PageEffect) => void) => () => void;
  readonly files: FileDoor;
}

export type PageEffect = Extract<Effect, { readonly type: 'announce' | 'focus' | 'follow' }>;

/** What goes wrong is told by `failed`, not thrown. */
export interface FileDoor {
  /** Holds the content, and says `attachment_added`. */
  readonly attach: (content: Blob, name: string) => void;
  readonly preview: (file: UhpFile, signal: AbortSignal) => Promise<FilePreview>;
  readonly download: (file: UhpFile) => void;
  /** As one zip. @param title  Of the session; its file is named so. */
  readonly downloadAll: (sessionId: string, title: string) => void;
  /** All that a call gave, as its task keeps it; null: it could not be had, which was told. */
  readonly output: (responseId: string, callId: string) => Promise<string | null>;
}

export type FilePreview =
  /** `whole` false: it goes on behind its first 100,000 characters. HTML and SVG are text (C-053). */
  | { readonly kind: 'text'; readonly text: string; readonly whole: boolean }
  | { readonly kind: 'image'; readonly blob: Blob }
  | { readonly kind: 'none'; readonly why: string };
