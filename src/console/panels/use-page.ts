import { approvalElementId } from './approval-card.tsx';
import { nextDecision } from './status-line.tsx';
import { composerId } from './focus-message.ts';
import { titleOfPage } from './top-bar.tsx';
import { useConsole, useStore } from './use-console.ts';
import { useEffect } from 'react';

/** What stands outside of the panels: title, colours, focus. */
export function usePage(): void {
  const store = useStore();
  const title = useConsole(titleOfPage);
  const asks = useConsole((state) => nextDecision(state) !== null);
  const theme = useConsole((state) => state.preferences.theme);
  useEffect(() => void (document.title = `${asks ? '● ' : ''}${title} · Reins`), [asks, title]);
  useEffect(() => void (document.documentElement.dataset['theme'] = theme), [theme]);
  useEffect(
    () =>
      store.onPageEffect((effect) => {
        if (effect.type !== 'focus') return;
        const { target } = effect;
        const id = target.kind === 'composer' ? composerId : approvalElementId(target.id);
        // What is to have it may only come with the state that this belongs to.
        setTimeout(() => document.getElementById(id)?.focus());
      }),
    [store],
  );
}
