import { approvalElementId } from './approval-card.tsx';
import { hasExpired } from '../state/verdict-text.ts';
import { needsPerson } from '../state/approvals.ts';
import { isReconnecting, nextTryMs, statusText } from '../state/status.ts';
import { isPaused } from '../state/pause.ts';
import { useConsole, useStore } from './use-console.ts';
import type { ConsoleState } from '../state/state.ts';

/** What goes on just now (C-013, C-031). Spoken are only boundaries, elsewhere. */
export function StatusLine() {
  const text = useConsole((state) => statusText(state));
  const kind = useConsole(kindOf);
  const next = useConsole(nextDecision);
  const count = useConsole((state) => state.approvals.filter((card) => isOpenNow(state, card)).length);
  const store = useStore();
  const paused = useConsole(isPaused);
  const waits = useConsole((state) => state.network === 'online' && nextTryMs(state) !== null);
  if (text === null && next === null) return null;
  return (
    <div className={`status status-${kind}`}>
      <span className="status-mark" aria-hidden="true" />
      <span>{text ?? 'A decision waits for you'}</span>
      {paused && (
        <button type="button" className="primary" onClick={() => store.dispatch({ type: 'resume' })}>
          Resume
        </button>
      )}
      {waits && (
        <button type="button" className="quiet-button" onClick={() => store.dispatch({ type: 'reconnect_asked' })}>
          Try now
        </button>
      )}
      {next !== null && (
        <button type="button" className="quiet-button" onClick={() => document.getElementById(next)?.focus()}>
          {count === 1 ? 'Show it' : `Show ${count} decisions`}
        </button>
      )}
    </div>
  );
}

type Card = ConsoleState['approvals'][number];

function isOpenNow({ nowMs }: ConsoleState, card: Card): boolean {
  return needsPerson(card) && !hasExpired(card.approval, nowMs);
}

/** Element of the first that waits for the person; null: none does. */
export function nextDecision(state: ConsoleState): string | null {
  const card = state.approvals.find((each) => isOpenNow(state, each));
  return card === undefined ? null : approvalElementId(card.approval.id);
}

function kindOf(state: ConsoleState): 'working' | 'asking' | 'paused' | 'lost' {
  if (state.network === 'offline' || isReconnecting(state)) return 'lost';
  if (nextDecision(state) !== null) return 'asking';
  return isPaused(state) ? 'paused' : 'working';
}
