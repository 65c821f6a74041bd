import { Brand } from './brand.tsx';
import { choicesOf } from './choices.ts';
import { focusMessage } from './focus-message.ts';
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
      <Examples />
    </div>
  );
}

const forms = [
  'Count slowly from 1 to 20, one number per line',
  'Create a file named notes.md containing exactly: Hello',
  'Run this shell command: ls -la',
] as const;

/** Of what the demo model can do; of any other one a person knows what to ask. */
function Examples() {
  const store = useStore();
  const isDemo = useConsole((state) => choicesOf(state).model === 'demo');
  if (!isDemo) return null;
  const write = (draft: string) => {
    store.dispatch({ type: 'draft_changed', draft });
    focusMessage();
  };
  return (
    <section className="examples" aria-label="Examples">
      <p className="hint">The demo model is a script that follows a few forms. For example:</p>
      {forms.map((form) => (
        <button key={form} type="button" onClick={() => write(form)}>
          {form}
        </button>
      ))}
    </section>
  );
}
