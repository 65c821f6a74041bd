import { IconButton } from './icon-button.tsx';
import { useConsole, useStore } from './use-console.ts';
import type { Preferences } from '../state/state.ts';

export interface SideFootProps {
  readonly principal: string;
  readonly onSignOut: () => void;
}

const next: Readonly<Record<Preferences['theme'], Preferences['theme']>> = {
  system: 'light',
  light: 'dark',
  dark: 'system',
};

export function SideFoot({ principal, onSignOut }: SideFootProps) {
  const store = useStore();
  const theme = useConsole((state) => state.preferences.theme);
  return (
    <footer className="side-foot">
      <span className="principal" title={`Signed in as ${principal}`}>
        <span className="spoken">Signed in as </span>
        {principal}
      </span>
      <IconButton
        icon="theme"
        label={`Colours: ${theme}`}
        onClick={() => store.dispatch({ type: 'preferences_changed', change: { theme: next[theme] } })}
      />
      <IconButton
        icon="more"
        label="Settings and keys"
        onClick={() => store.dispatch({ type: 'overlay_opened', overlay: { kind: 'help' } })}
      />
      <button type="button" className="quiet-button" onClick={onSignOut}>
        Sign out
      </button>
    </footer>
  );
}
