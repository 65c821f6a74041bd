import { useState } from 'react';
import { useStore } from './use-console.ts';
import type { ApprovalCard } from '../state/state.ts';
import type { Resolution } from '../state/wire.ts';

/** Nobody knows whether the call took effect: a person looks, and says. */
export function RecoveryForm({ card: { approval, answer } }: { readonly card: ApprovalCard }) {
  const store = useStore();
  const [output, setOutput] = useState('');
  const sending = answer.kind === 'sending';
  const resolve = (body: Resolution) =>
    store.dispatch({ type: 'verdict_given', approvalId: approval.id, verdict: { verb: 'resolve', body } });
  return (
    <div className="questions">
      <p>The server stopped while this call ran. It may have taken effect, in full or in part.</p>
      <label className="stacked">
        What the call gave, if you know
        <textarea value={output} rows={2} onChange={(event) => setOutput(event.currentTarget.value)} />
      </label>
      <div className="verdicts">
        <button
          type="button"
          className="primary"
          disabled={sending || output.trim() === ''}
          onClick={() => resolve({ action: 'result', output })}
        >
          Go on with this result
        </button>
        <button type="button" disabled={sending} onClick={() => resolve({ action: 'retry' })}>
          Run it again
        </button>
        <button type="button" disabled={sending} onClick={() => resolve({ action: 'abort' })}>
          Give up
        </button>
      </div>
    </div>
  );
}
