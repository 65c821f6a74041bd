import { useEffect, useId, useRef, useState } from 'react';
import { ruleOffers } from '../state/approvals.ts';
import { useStore } from './use-console.ts';
import type { ApprovalCard } from '../state/state.ts';
import type { Decision } from '../state/wire.ts';

export function DecideForm({ card: { approval, answer } }: { readonly card: ApprovalCard }) {
  const store = useStore();
  const rules = useId();
  const [reason, setReason] = useState('');
  const [offering, setOffering] = useState(false);
  const offers = useRef<HTMLUListElement>(null);
  useEffect(() => {
    if (offering) offers.current?.scrollIntoView({ block: 'nearest' });
  }, [offering]);
  const sending = answer.kind === 'sending';
  const decide = (body: Decision) =>
    store.dispatch({ type: 'verdict_given', approvalId: approval.id, verdict: { verb: 'decide', body } });
  const note = reason.trim() === '' ? {} : { note: reason.trim() };
  return (
    <div className="verdicts" aria-busy={sending}>
      <button type="button" className="primary" disabled={sending} onClick={() => decide({ decision: 'approve' })}>
        Allow once
      </button>
      <button
        type="button"
        disabled={sending}
        aria-expanded={offering}
        aria-controls={rules}
        onClick={() => setOffering(!offering)}
      >
        Always allow…
      </button>
      <span className="deny">
        <button type="button" disabled={sending} onClick={() => decide({ decision: 'deny', ...note })}>
          Deny
        </button>
        <input
          aria-label="Reason to deny (optional)"
          placeholder="Reason (optional)"
          value={reason}
          maxLength={10_000}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </span>
      <ul ref={offers} id={rules} className="rules" hidden={!offering}>
        {ruleOffers(approval).map(({ text, remember }) => (
          <li key={text}>
            <button type="button" disabled={sending} onClick={() => decide({ decision: 'approve', remember })}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
