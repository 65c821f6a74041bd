import { ArgumentList } from './argument-list.tsx';
import { argumentsOf, askedLine } from '../state/call-arguments.ts';
import { DecideForm } from './decide-form.tsx';
import { focusMessage } from './focus-message.ts';
import { durationText } from '../state/usage.ts';
import { hasExpired, verdictText, wasGranted } from '../state/verdict-text.ts';
import { needsPerson } from '../state/approvals.ts';
import { Icon } from './icon.tsx';
import { QuestionForm } from './question-form.tsx';
import { RecoveryForm } from './recovery-form.tsx';
import { useConsole, useStore } from './use-console.ts';
import type { Approval } from '../state/wire.ts';
import type { ApprovalCard as Card } from '../state/state.ts';

const titles = {
  approval: 'Approval needed',
  question: 'The agent asks',
  recovery: 'Outcome unknown',
} as const;

/** The focus comes here, not to a button: Enter alone decides nothing (C-050). */
export function approvalElementId(approvalId: string): string {
  return `approval-${approvalId}`;
}

export function ApprovalCard({ card }: { readonly card: Card }) {
  const expired = useConsole((state) => hasExpired(card.approval, state.nowMs));
  const { approval, answer } = card;
  const open = needsPerson(card) && !expired;
  const title = open ? titles[approval.kind] : verdictText(card, expired);
  return (
    <section
      id={approvalElementId(approval.id)}
      className={open ? 'approval approval-open' : 'approval'}
      tabIndex={-1}
      aria-label={`${title}: ${approval.name}`}
    >
      <header className="approval-head">
        <Icon name={open ? 'wait' : wasGranted(approval) ? 'check' : 'close'} />
        <h3>{title}</h3>
        <code>{open ? approval.name : `${approval.name} ${askedLine(approval.arguments)}`}</code>
        {open && <Expiry approval={approval} />}
      </header>
      {open && <Facts approval={approval} />}
      {answer.kind === 'failed' && <p className="bad">{answer.message}</p>}
      {open ? <AnswerForm card={card} /> : <Dismiss id={approval.id} />}
    </section>
  );
}

function AnswerForm({ card }: { readonly card: Card }) {
  switch (card.approval.kind) {
    case 'approval':
      return <DecideForm card={card} />;
    case 'question':
      return <QuestionForm card={card} />;
    case 'recovery':
      return <RecoveryForm card={card} />;
  }
}

function Facts({ approval }: { readonly approval: Approval }) {
  const harness = useConsole((state) => state.catalogue.harnesses.find(({ id }) => id === approval.harness_id)?.name);
  const { entries, cwd } = argumentsOf(approval.arguments);
  const asks = [harness ?? 'The agent', ...approval.agent_path].join(' › ');
  return (
    <>
      {approval.reason !== null && <p>{approval.reason}</p>}
      {approval.kind !== 'question' && <ArgumentList entries={entries} />}
      <p className="hint">
        Asked by {asks} · in {cwd === null ? 'the session’s own folder' : <code>{cwd}</code>}
      </p>
    </>
  );
}

function Expiry({ approval: { expires_at } }: { readonly approval: Approval }) {
  const now = useConsole((state) => (expires_at === null ? 0 : state.nowMs));
  if (expires_at === null) return null;
  return <span className="approval-expiry">expires in {durationText(expires_at * 1_000 - now)}</span>;
}

function Dismiss({ id }: { readonly id: string }) {
  const store = useStore();
  return (
    <button
      type="button"
      className="quiet-button"
      onClick={() => {
        store.dispatch({ type: 'approval_dismissed', approvalId: id });
        focusMessage();
      }}
    >
      Dismiss
    </button>
  );
}
