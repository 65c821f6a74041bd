import { useRef, useState } from 'react';
import { agoText } from './time-text.ts';
import { IconButton } from './icon-button.tsx';
import { markOf } from '../state/session-list.ts';
import { RenameField } from './rename-field.tsx';
import { usePassedOnFocus } from './use-passed-on-focus.ts';
import { useStore } from './use-console.ts';
import type { UhpSession } from '../state/wire.ts';

export function sessionElementId(sessionId: string): string {
  return `session-${sessionId}`;
}

const words = {
  waiting: 'Waiting for you',
  paused: 'Paused',
  running: 'Running',
  failed: 'Failed',
  idle: null,
} as const;

interface SessionItemProps {
  readonly session: UhpSession;
  readonly current: boolean;
  readonly onOpen: () => void;
}

export function SessionItem({ session, current, onOpen }: SessionItemProps) {
  const store = useStore();
  const [renaming, setRenaming] = useState(false);
  const item = useRef<HTMLLIElement>(null);
  usePassedOnFocus(item);
  const { id, title, updated_at } = session;
  const mark = markOf(session);
  const shown = title === '' ? 'Untitled' : title;
  if (renaming)
    return (
      <li ref={item} className="session">
        <RenameField sessionId={id} title={title} returnTo={sessionElementId(id)} onEnd={() => setRenaming(false)} />
      </li>
    );
  return (
    <li ref={item} className={current ? 'session session-current' : 'session'}>
      <button
        type="button"
        id={sessionElementId(id)}
        className="session-open"
        aria-current={current ? 'page' : undefined}
        title={shown}
        onClick={onOpen}
      >
        <span className="session-title">{shown}</span>
        <span className={`session-state state-${mark}`}>
          {words[mark] ?? agoText(updated_at * 1_000, store.getState().nowMs || Date.now())}
        </span>
      </button>
      <span className="session-actions">
        <IconButton icon="pencil" label={`Rename ${shown}`} onClick={() => setRenaming(true)} />
        <IconButton
          icon="trash"
          label={`Delete ${shown}`}
          onClick={() => store.dispatch({ type: 'overlay_opened', overlay: { kind: 'delete-session', sessionId: id } })}
        />
      </span>
    </li>
  );
}
