import { useEffect } from 'react';
import { composerId } from './focus-message.ts';
import { keyCommand, type KeyCommand } from '../state/key-command.ts';
import { clientRandom } from '../../client/system.ts';
import { useStore } from './use-console.ts';
import type { ActionBody } from '../state/action.ts';

/** The keys of the whole page (C-070); what they mean is decided by `keyCommand`. */
export function useKeys(): void {
  const store = useStore();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const where = event.target instanceof Element && event.target.id === composerId ? 'composer' : 'elsewhere';
      const { key, keyCode, isComposing, shiftKey: shift, ctrlKey: ctrl, metaKey: meta, altKey: alt } = event;
      const command = keyCommand({ key, keyCode, isComposing, shift, ctrl, meta, alt }, where, store.getState());
      if (command === null) return;
      event.preventDefault();
      store.dispatch(actionOf(command));
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [store]);
}

function actionOf(command: KeyCommand): ActionBody {
  switch (command) {
    case 'send':
      return { type: 'submit', id: clientRandom.token() };
    case 'stop':
      return { type: 'stop' };
    case 'close-overlay':
      return { type: 'overlay_closed' };
    case 'search':
      return { type: 'overlay_opened', overlay: { kind: 'search' } };
    case 'recall':
      return { type: 'prompt_recalled' };
  }
}
