import { focusMessage } from './focus-message.ts';
import { Icon } from './icon.tsx';
import { IconButton } from './icon-button.tsx';
import { useConsole, useStore } from './use-console.ts';

/** Spoken when they come; here to be read, until put away. */
export function Notices() {
  const store = useStore();
  const notices = useConsole((state) => state.notices);
  if (notices.length === 0) return null;
  return (
    <ul className="notices" aria-label="Notices">
      {notices.map(({ id, text }) => (
        <li key={id} className="notice">
          <Icon name="alert" />
          <span>{text}</span>
          <IconButton
            icon="close"
            label="Dismiss"
            onClick={() => {
              store.dispatch({ type: 'notice_dismissed', id });
              focusMessage();
            }}
          />
        </li>
      ))}
    </ul>
  );
}
