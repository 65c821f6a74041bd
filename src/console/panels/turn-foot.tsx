import { durationText, usageText } from '../state/usage.ts';
import { useConsole, useStore } from './use-console.ts';

/** What the last turn took, below its end line; more on asking. */
export function TurnFoot() {
  const store = useStore();
  const ready = useConsole((state) => state.phase.name === 'ready' && state.newest === null);
  const last = useConsole((state) => state.lastTurn);
  if (!ready || last === null) return null;
  const told = [last.details.model, durationText(last.tookMs), usageText(last.usage)].filter((each) => each !== null);
  return (
    <p className="turn-foot">
      <span>{told.join(' · ')}</span>
      <button
        type="button"
        className="quiet-button"
        onClick={() => store.dispatch({ type: 'overlay_opened', overlay: { kind: 'turn-details' } })}
      >
        Details
      </button>
    </p>
  );
}
