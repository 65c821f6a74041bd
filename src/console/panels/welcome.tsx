import { Brand } from './brand.tsx';
import { useConsole, useStore } from './use-console.ts';

/** In place of a transcript: nothing was said yet, or there is nothing to show. */
export function Welcome() {
  const store = useStore();
  const session = useConsole((state) => state.session);
  const empty = useConsole((state) => state.rows.length === 0);
  if (session.kind === 'missing')
    return (
      <div className="welcome">
        <h2>This session is not here</h2>
        <p>{session.message}</p>
        <button
          type="button"
          className="primary"
          onClick={() => store.dispatch({ type: 'session_opened', sessionId: null })}
        >
          New session
        </button>
      </div>
    );
  if (!empty || session.kind !== 'new') return null;
  return (
    <div className="welcome">
      <Brand />
      <h2>What should the agent do?</h2>
      <p>It works on the server, and goes on when this page is closed.</p>
    </div>
  );
}
