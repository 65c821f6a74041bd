import { useState } from 'react';
import { IconButton } from './icon-button.tsx';
import { costText } from '../state/usage.ts';
import { RenameField } from './rename-field.tsx';
import { sessionIdOf, type ConsoleState } from '../state/state.ts';
import { useConsole, useStore } from './use-console.ts';

const renameId = 'rename';
/** Has the focus again when the files are put away. */
export const filesButtonId = 'files';

interface TopBarProps {
  /** Null: the list stands beside. */
  readonly onMenu: (() => void) | null;
  readonly filesOpen: boolean;
  readonly onFiles: () => void;
}

export function titleOfPage({ session, sessions }: ConsoleState): string {
  switch (session.kind) {
    case 'new':
      return 'New session';
    case 'missing':
      return 'No such session';
    case 'loading':
      return sessions.items.find(({ id }) => id === session.id)?.title ?? 'Session';
    case 'open':
      return session.title || 'Untitled';
  }
}

export function TopBar({ onMenu, filesOpen, onFiles }: TopBarProps) {
  const store = useStore();
  const id = useConsole(({ session }) => (session.kind === 'open' ? session.id : null));
  const busyId = useConsole(sessionIdOf);
  const title = useConsole(titleOfPage);
  const files = useConsole((state) => state.files.length);
  const cost = useConsole(({ spent }) => costText(spent));
  const [renaming, setRenaming] = useState<string | null>(null);
  return (
    <header className="top-bar">
      {onMenu !== null && <IconButton icon="menu" label="Sessions" onClick={onMenu} />}
      {renaming !== null && renaming === busyId ? (
        <RenameField sessionId={renaming} title={title} returnTo={renameId} onEnd={() => setRenaming(null)} />
      ) : (
        <h1 className="page-title" title={title}>
          {title}
        </h1>
      )}
      {cost !== null && (
        <span className="page-cost" title="What this session has cost, by the list prices of its models">
          <span className="spoken">Cost of the session: </span>
          {cost}
        </span>
      )}
      {id !== null && (
        <div className="top-actions">
          <IconButton id={renameId} icon="pencil" label="Rename" onClick={() => setRenaming(id)} />
          <IconButton
            icon="share"
            label="Share"
            onClick={() => store.dispatch({ type: 'overlay_opened', overlay: { kind: 'share' } })}
          />
          <button id={filesButtonId} type="button" className="files-button" aria-expanded={filesOpen} onClick={onFiles}>
            Files{files === 0 ? '' : ` ${files}`}
          </button>
        </div>
      )}
    </header>
  );
}
