import { useEffect, useId, useRef, type KeyboardEvent } from 'react';
import { canHover } from './focus-message.ts';
import { Icon } from './icon.tsx';
import { SessionItem, sessionElementId } from './session-item.tsx';
import { sessionIdOf } from '../state/state.ts';
import { useConsole, useStore } from './use-console.ts';
import { visibleSessions } from '../state/session-list.ts';

/** All conversations, newest first (C-054). @param onChosen  One was opened. */
export function SessionPanel({ onChosen }: { readonly onChosen: () => void }) {
  const store = useStore();
  const list = useConsole((state) => state.sessions);
  const open = useConsole(sessionIdOf);
  // Another one each time that it is asked for.
  const searching = useConsole(({ overlay }) => (overlay?.kind === 'search' ? overlay : null));
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => {
    if (searching === null || !canHover()) return;
    field.current?.focus();
    field.current?.select();
  }, [searching]);
  const search = (query: string) => store.dispatch({ type: 'search_changed', query });
  const choose = (sessionId: string | null) => {
    if (list.query !== '') search('');
    store.dispatch({ type: 'session_opened', sessionId });
    onChosen();
  };
  const move = (event: KeyboardEvent) => {
    if ((event.key !== 'ArrowDown' && event.key !== 'ArrowUp') || event.nativeEvent.isComposing) return;
    if (event.target instanceof HTMLInputElement && event.target !== field.current) return;
    event.preventDefault();
    store.dispatch({ type: 'search_moved', by: event.key === 'ArrowDown' ? 1 : -1 });
    const { highlighted } = store.getState().sessions;
    if (highlighted !== null) document.getElementById(sessionElementId(highlighted))?.focus();
  };
  const shown = visibleSessions(list);
  return (
    <nav className="sessions" aria-label="Sessions" onKeyDown={move}>
      <button type="button" className="new-session" onClick={() => choose(null)}>
        <Icon name="plus" />
        New session
      </button>
      <div className="search">
        <label htmlFor={id} className="spoken">
          Search sessions
        </label>
        <Icon name="search" />
        <input
          ref={field}
          id={id}
          type="search"
          placeholder="Search"
          autoComplete="off"
          value={list.query}
          onChange={(event) => search(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape' || list.query === '') return;
            // Else it closes the list, and what was searched for stays.
            event.preventDefault();
            search('');
          }}
        />
        <kbd aria-hidden="true">Ctrl K</kbd>
      </div>
      <ul className="session-list">
        {shown.map((session) => (
          <SessionItem
            key={session.id}
            session={session}
            current={session.id === open}
            onOpen={() => choose(session.id)}
          />
        ))}
      </ul>
      {shown.length === 0 && !list.loading && (
        <p className="hint">{list.applied === '' ? 'No sessions yet.' : 'No session has these words.'}</p>
      )}
      {list.next !== null && (
        <button
          type="button"
          className="quiet-button"
          disabled={list.loading}
          onClick={() => store.dispatch({ type: 'sessions_asked' })}
        >
          {list.loading ? 'Loading…' : 'Load more'}
        </button>
      )}
    </nav>
  );
}
