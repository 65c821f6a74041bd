// What a key does (C-070, C-071). Pure: whoever hears the key does what this says, and keeps the page from doing anything else.

import { turnOf, type ConsoleState } from './state.ts';

export interface KeyPress {
  readonly key: string;
  /** 229: an input method has it. */
  readonly keyCode: number;
  readonly isComposing: boolean;
  readonly shift: boolean;
  readonly ctrl: boolean;
  readonly meta: boolean;
  readonly alt: boolean;
}

export type KeyCommand = 'send' | 'stop' | 'close-overlay' | 'search' | 'recall';

/** Null: the key is the page's own. @param where  What has the focus. */
export function keyCommand(
  press: KeyPress,
  where: 'composer' | 'elsewhere',
  state: Pick<ConsoleState, 'phase' | 'overlay' | 'composer' | 'preferences'>,
): KeyCommand | null {
  if (press.isComposing || press.keyCode === 229) return null;
  const command = press.ctrl || press.meta;
  const busy = turnOf(state) !== null;
  switch (press.key) {
    case 'Enter':
      return where === 'composer' && !press.alt && (command || press.shift === (state.preferences.enter === 'newline'))
        ? 'send'
        : null;
    case 'Escape':
      if (state.overlay !== null) return 'close-overlay';
      return where === 'composer' && busy ? 'stop' : null;
    case '.':
      return command && busy ? 'stop' : null;
    case 'k':
    case 'K':
      return command && !press.shift && !press.alt ? 'search' : null;
    case 'ArrowUp':
      return where === 'composer' && state.composer.draft === '' && !command && !press.shift && !press.alt
        ? 'recall'
        : null;
    default:
      return null;
  }
}
