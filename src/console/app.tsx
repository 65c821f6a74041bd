import { useEffect, useState, type MouseEvent } from 'react';
import { Announcer } from './panels/announcer.tsx';
import { Composer, composerId } from './panels/composer.tsx';
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
import { TopBar } from './panels/top-bar.tsx';
import { Transcript } from './panels/transcript.tsx';
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
          onFiles={() => setFilesOf(filesOpen ? null : sessionId)}
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
      {filesOpen && <Files isWide={isWide} onClose={() => setFilesOf(null)} />}
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

function Files({ isWide, onClose }: { readonly isWide: boolean; readonly onClose: () => void }) {
  if (!isWide)
    return (
      <Dialog title="Files" form="sheet" onClose={onClose}>
        <FileList />
      </Dialog>
    );
  return (
    <aside className="files-panel" aria-labelledby="files-title">
      <header className="panel-head">
        <h2 id="files-title">Files</h2>
        <IconButton icon="close" label="Close files" onClick={onClose} />
      </header>
      <FileList />
    </aside>
  );
}
