import { useCallback } from 'react';
import { dialogsPart } from './page-parts.ts';
import { useConsole, useStore } from './use-console.ts';
import { usePart } from './part.ts';
import type { DialogOverlay } from '../state/state.ts';

/** The one dialog that is open. The picker and the search stand where they belong. */
export function Overlays() {
  const overlay = useConsole((state) => state.overlay);
  if (overlay === null || overlay.kind === 'search' || overlay.kind === 'picker') return null;
  return <Opened overlay={overlay} />;
}

function Opened({ overlay }: { readonly overlay: DialogOverlay }) {
  const store = useStore();
  const close = useCallback(() => store.dispatch({ type: 'overlay_closed' }), [store]);
  const onFailed = useCallback(() => {
    close();
    const message = 'This part of the page could not be loaded. If it stays so, load the page anew.';
    store.dispatch({ type: 'failed', id: 'part', message });
  }, [store, close]);
  const dialogs = usePart(dialogsPart, onFailed);
  return dialogs === null ? null : <dialogs.OpenDialog overlay={overlay} onClose={close} />;
}
