import { Dialog } from './dialog.tsx';
import { useConsole, useStore } from './use-console.ts';

export function DeleteDialog({ sessionId, onClose }: { readonly sessionId: string; readonly onClose: () => void }) {
  const store = useStore();
  const title = useConsole(({ sessions: { items } }) => items.find(({ id }) => id === sessionId)?.title ?? '');
  return (
    <Dialog title="Delete this session?" onClose={onClose}>
      <p>
        <b>{title === '' ? 'Untitled' : title}</b> goes with its messages, its files and its links. What still runs in
        it is stopped.
      </p>
      <footer className="dialog-foot">
        <button type="button" data-first onClick={onClose}>
          Keep it
        </button>
        <button
          type="button"
          className="danger"
          onClick={() => store.dispatch({ type: 'session_delete_confirmed', sessionId })}
        >
          Delete
        </button>
      </footer>
    </Dialog>
  );
}
