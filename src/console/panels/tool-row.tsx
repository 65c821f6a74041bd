import { useState } from 'react';
import { approvalsOf } from './approval-place.ts';
import { ApprovalCard } from './approval-card.tsx';
import { bitsOf, leavesOut, toolMarks } from './tool-line.ts';
import { ArgumentList } from './argument-list.tsx';
import { argumentsOf } from '../state/call-arguments.ts';
import { cardText, cardTitle, countsOf, isOpen, isRunning } from '../state/tool-card.ts';
import { CopyButton } from './copy-button.tsx';
import { durationText } from '../state/usage.ts';
import { Icon, type IconName } from './icon.tsx';
import { LongText } from './long-text.tsx';
import { responseIdOf } from '../state/load-earlier.ts';
import { useConsole, useStore } from './use-console.ts';
import type { ToolItem, ToolRow as Row, TurnId } from '../state/row.ts';

/** One streak of calls (C-020). */
export function ToolRow({ row, open }: { readonly row: Row; readonly open: boolean }) {
  const store = useStore();
  const counts = countsOf(row);
  const newest = row.items.findLast(isOpen) ?? row.items.at(-1);
  return (
    <div className="tool-card">
      <div className="tool-head">
        <button
          type="button"
          className="tool-toggle"
          aria-expanded={open}
          onClick={() => store.dispatch({ type: 'row_toggled', row: row.id, open: !open })}
        >
          <Icon name="chevron" />
          <span className="tool-title">{cardTitle(counts)}</span>
          <span className="tool-chips">
            <Chip icon="check" symbol="✓" kind="ok" count={counts.ok} word="ok" />
            <Chip icon="failed" symbol="✗" kind="failed" count={counts.failed} word="failed" />
            <Chip icon="more" symbol="…" kind="pending" count={counts.pending} word="pending" />
            {counts.stopped > 0 && <span className="tool-chip">{counts.stopped} stopped</span>}
          </span>
          {!open && newest !== undefined && <span className="tool-now">{`${newest.name} ${newest.asked}`.trim()}</span>}
        </button>
        <Elapsed row={row} />
        <CopyButton text={() => cardText(row)} />
      </div>
      {open && (
        <ul className="tool-calls">
          {row.items.map((item, at) => (
            // Calls are only ever added, and some have no id.
            <ToolCall key={at} item={item} turn={row.turn} />
          ))}
        </ul>
      )}
      <OwnApprovals row={row} />
    </div>
  );
}

interface ChipProps {
  readonly icon: IconName;
  readonly symbol: string;
  readonly kind: string;
  readonly count: number;
  readonly word: string;
}

function Chip({ symbol, kind, count, word }: ChipProps) {
  if (count === 0) return null;
  return (
    <span className={`tool-chip chip-${kind}`}>
      <span aria-hidden="true">{symbol} </span>
      {count}
      <span className="spoken"> {word}</span>
    </span>
  );
}

/** Of a restored card nobody knows. */
function Elapsed({ row }: { readonly row: Row }) {
  const running = isRunning(row);
  const now = useConsole((state) => (running ? state.nowMs : 0));
  const took = Math.max(row.changedMs, now) - row.startedMs;
  if (row.startedMs === 0 || took < 1_000) return null;
  return <span className="tool-elapsed">{durationText(took)}</span>;
}

function ToolCall({ item, turn }: { readonly item: ToolItem; readonly turn: TurnId }) {
  const store = useStore();
  // The simple mode keeps nothing that could be read again.
  const responseId = useConsole(({ responses, preferences }) =>
    preferences.transport === 'task' ? responseIdOf({ responses }, turn) : null,
  );
  const { id } = item;
  const wholeOf = (detail: string) =>
    id !== null && responseId !== null && leavesOut(detail) ? () => store.files.output(responseId, id) : null;
  const [open, setOpen] = useState(false);
  const line = (
    <>
      <Icon name={toolMarks[item.state]} />
      <span className="call-name">{item.name}</span>
      <span className={item.state === 'ok' ? 'spoken' : 'call-state'}> {item.state} </span>
      {item.asked !== '' && <code className="call-asked">{item.asked}</code>}
      <span className="call-bits">{bitsOf(item)}</span>
    </>
  );
  return (
    <li className={`call call-${item.state}`}>
      {item.detail === null && item.input === null ? (
        <div className="call-line">{line}</div>
      ) : (
        <button type="button" className="call-line" aria-expanded={open} onClick={() => setOpen(!open)}>
          {line}
          <Icon name="chevron" />
        </button>
      )}
      {open && item.input !== null && <ArgumentList entries={argumentsOf(item.input).entries} />}
      {open && item.detail !== null && <LongText text={item.detail} readWhole={wholeOf(item.detail)} />}
    </li>
  );
}

function OwnApprovals({ row }: { readonly row: Row }) {
  const approvals = useConsole((state) => state.approvals);
  const responses = useConsole((state) => state.responses);
  return approvalsOf(row, { approvals, responses }).map((card) => <ApprovalCard key={card.approval.id} card={card} />);
}
