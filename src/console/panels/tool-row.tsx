import { useState } from 'react';
import { approvalsOf } from './approval-place.ts';
import { ApprovalCard } from './approval-card.tsx';
import { bitsOf, toolMarks } from './tool-line.ts';
import { cardText, cardTitle, countsOf, isOpen } from '../state/tool-card.ts';
import { CopyButton } from './copy-button.tsx';
import { durationText } from '../state/usage.ts';
import { Icon, type IconName } from './icon.tsx';
import { LongText } from './long-text.tsx';
import { useConsole, useStore } from './use-console.ts';
import type { ToolItem, ToolRow as Row } from '../state/row.ts';

/** One streak of calls (C-020). */
export function ToolRow({ row, open }: { readonly row: Row; readonly open: boolean }) {
  const store = useStore();
  const counts = countsOf(row);
  const newest = row.items.findLast(isOpen) ?? null;
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
          {!open && newest !== null && <span className="tool-now">{newest.name}</span>}
        </button>
        <Elapsed row={row} />
        <CopyButton text={() => cardText(row)} />
      </div>
      {open && (
        <ul className="tool-calls">
          {row.items.map((item, at) => (
            // Calls are only ever added, and some have no id.
            <ToolCall key={at} item={item} />
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
  const running = row.items.some(isOpen);
  const now = useConsole((state) => (running ? state.nowMs : 0));
  const took = Math.max(row.changedMs, now) - row.startedMs;
  if (row.startedMs === 0 || took < 1_000) return null;
  return <span className="tool-elapsed">{durationText(took)}</span>;
}

function ToolCall({ item }: { readonly item: ToolItem }) {
  const [open, setOpen] = useState(false);
  const line = (
    <>
      <Icon name={toolMarks[item.state]} />
      <span className="call-name">{item.name}</span>
      <span className={item.state === 'ok' ? 'spoken' : 'call-state'}> {item.state} </span>
      <span className="call-bits">{bitsOf(item)}</span>
    </>
  );
  return (
    <li className={`call call-${item.state}`}>
      {item.detail === null ? (
        <div className="call-line">{line}</div>
      ) : (
        <button type="button" className="call-line" aria-expanded={open} onClick={() => setOpen(!open)}>
          {line}
          <Icon name="chevron" />
        </button>
      )}
      {open && item.detail !== null && <LongText text={item.detail} />}
    </li>
  );
}

function OwnApprovals({ row }: { readonly row: Row }) {
  const approvals = useConsole((state) => state.approvals);
  return approvalsOf(row, approvals).map((card) => <ApprovalCard key={card.approval.id} card={card} />);
}
