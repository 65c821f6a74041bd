import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { ruleOffers } from '../state/approvals.ts';
import { isEnter } from './is-enter.ts';
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
  const offer = useRef<HTMLButtonElement>(null);
  const onEscape = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !offering) return;
    event.preventDefault();
    setOffering(false);
    offer.current?.focus();
  };
  const note = reason.trim() === '' ? {} : { note: reason.trim() };
  const deny = () => decide({ decision: 'deny', ...note });
  return (
    <div className="verdicts" aria-busy={sending} onKeyDown={onEscape}>
      <button type="button" className="primary" disabled={sending} onClick={() => decide({ decision: 'approve' })}>
        Allow once
      </button>
      <button
        ref={offer}
        type="button"
        disabled={sending}
        aria-expanded={offering}
        aria-controls={rules}
        onClick={() => setOffering(!offering)}
      >
        Always allow…
      </button>
      <span className="deny">
        <button type="button" disabled={sending} onClick={deny}>
          Deny
        </button>
        <input
          aria-label="Reason to deny (optional)"
          placeholder="Reason (optional)"
          value={reason}
          maxLength={10_000}
          onChange={(event) => setReason(event.currentTarget.value)}
          // A reason says what is meant; Enter alone decides nothing (C-050).
          onKeyDown={(event) => isEnter(event) && 'note' in note && !sending && deny()}
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
