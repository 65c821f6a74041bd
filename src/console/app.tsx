import { useEffect, useState, type MouseEvent } from 'react';
import { Announcer } from './panels/announcer.tsx';
import { Composer } from './panels/composer.tsx';
import { composerId } from './panels/focus-message.ts';
import { Dialog } from './panels/dialog.tsx';
import { DropZone } from './panels/drop-zone.tsx';
import { fetchParts } from './panels/page-parts.ts';
import { FileList } from './panels/file-list.tsx';
import { IconButton } from './panels/icon-button.tsx';
import { Notices } from './panels/notices.tsx';
import { Overlays } from './panels/overlays.tsx';
import { QueueChips } from './panels/queue-chips.tsx';
import { SessionPanel } from './panels/session-panel.tsx';
import { SideFoot, type SideFootProps } from './panels/side-foot.tsx';
import { StatusLine } from './panels/status-line.tsx';
import { StoreContext, useConsole, useStore } from './panels/use-console.ts';
import { TodoLine } from './panels/todo-line.tsx';
import { filesButtonId, TopBar } from './panels/top-bar.tsx';
import { Transcript } from './panels/transcript.tsx';
import { useFocused } from './panels/use-focused.ts';
import { useKeys } from './panels/use-keys.ts';
import { useMedia, wide } from './panels/use-media.ts';
import { usePage } from './panels/use-page.ts';
import { Welcome } from './panels/welcome.tsx';
import { sessionIdOf, type ConsoleState } from './state/state.ts';
import type { ConsoleStore } from './panels/console-store.ts';

interface AppProps extends SideFootProps {
  readonly store: ConsoleStore;
}

export function App({ store, ...person }: AppProps) {
  return (
    <StoreContext.Provider value={store}>
      <Page {...person} />
    </StoreContext.Provider>
  );
}

function Page(person: SideFootProps) {
  useKeys();
  usePage();
  useEffect(() => void fetchParts(), []);
  const store = useStore();
  const isWide = useMedia(wide);
  const searching = useConsole((state) => state.overlay?.kind === 'search');
  const empty = useConsole(isEmpty);
  const missing = useConsole((state) => state.session.kind === 'missing');
  const sessionId = useConsole(sessionIdOf);
  // Of one session: another one that is opened begins without.
  const [filesOf, setFilesOf] = useState<string | null>(null);
  const filesOpen = filesOf !== null && filesOf === sessionId;
  const closeFiles = () => {
    setFilesOf(null);
    document.getElementById(filesButtonId)?.focus();
  };
  const closeOverlay = () => store.dispatch({ type: 'overlay_closed' });
  const side = (
    <>
      <SessionPanel onChosen={closeOverlay} />
      <SideFoot {...person} />
    </>
  );
  return (
    <div className="page">
      <a className="skip-link" href={`#${composerId}`} onClick={skip}>
        Skip to the message
      </a>
      {isWide && <aside className="side">{side}</aside>}
      {!isWide && searching && (
        <Dialog title="Sessions" form="sheet" onClose={closeOverlay}>
          {side}
        </Dialog>
      )}
      <main className={empty ? 'main main-empty' : 'main'}>
        <TopBar
          onMenu={isWide ? null : () => store.dispatch({ type: 'overlay_opened', overlay: { kind: 'search' } })}
          filesOpen={filesOpen}
          onFiles={() => (filesOpen ? closeFiles() : setFilesOf(sessionId))}
        />
        <Welcome />
        <Transcript />
        <div className="dock column">
          <Notices />
          <StatusLine />
          <TodoLine />
          <QueueChips />
          {!missing && <Composer />}
        </div>
      </main>
      {filesOpen && <Files isWide={isWide} onClose={closeFiles} />}
      <Overlays />
      <DropZone />
      <Announcer />
    </div>
  );
}

/** Nothing was said yet. */
function isEmpty({ rows, session }: ConsoleState): boolean {
  return session.kind === 'missing' || (rows.length === 0 && session.kind === 'new');
}

/** The address is the session's, not a place in the page. */
function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById(composerId)?.focus();
}

interface FilesProps {
  readonly isWide: boolean;
  readonly onClose: () => void;
}

function Files({ isWide, onClose }: FilesProps) {
  if (!isWide)
    return (
      <Dialog title="Files" form="sheet" onClose={onClose}>
        <FileList />
      </Dialog>
    );
  return <FilesPanel onClose={onClose} />;
}

function FilesPanel({ onClose }: Pick<FilesProps, 'onClose'>) {
  const panel = useFocused<HTMLElement>();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // What lies above it has closed at this key, or the agent was stopped.
      if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented) return;
      if (document.querySelector('dialog[open]') !== null) return;
      onClose();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [onClose]);
  return (
    <aside ref={panel} className="files-panel" tabIndex={-1} aria-labelledby="files-title">
      <header className="panel-head">
        <h2 id="files-title">Files</h2>
        <IconButton icon="close" label="Close files" onClick={onClose} />
      </header>
      <FileList />
    </aside>
  );
}
