import { costText, tookText, spentText, usageText } from '../state/usage.ts';
import { useConsole, useStore } from './use-console.ts';
import type { Spent } from '../state/wire.ts';

/** Below the last end line: what the turn took, and the whole session; more on asking. */
export function TurnFoot() {
  const store = useStore();
  const ready = useConsole((state) => state.phase.name === 'ready' && state.newest === null);
  const last = useConsole((state) => state.lastTurn);
  const spent = useConsole((state) => state.spent);
  const all = shortText(spent);
  const total = all === null || (last !== null && shortText(last.spent) === all) ? null : `session ${all}`;
  const turn = last === null ? [] : [last.details.model, tookText(last), spentText(last.spent)];
  const told = [...turn, total].filter((each) => each !== null);
  if (!ready || told.length === 0) return null;
  return (
    <p className="turn-foot">
      <span>{told.join(' · ')}</span>
      {last !== null && (
        <button
          type="button"
          className="quiet-button"
          onClick={() => store.dispatch({ type: 'overlay_opened', overlay: { kind: 'turn-details' } })}
        >
          Details
        </button>
      )}
    </p>
  );
}

function shortText(spent: Spent): string | null {
  return costText(spent) ?? usageText(spent);
}
