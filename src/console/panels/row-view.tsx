import { memo } from 'react';
import { CopyButton } from './copy-button.tsx';
import { endPrefix } from '../state/end-line.ts';
import { Icon } from './icon.tsx';
import { IconButton } from './icon-button.tsx';
import { isPainted, thinkingPreview } from '../state/open-rows.ts';
import { MarkdownBlock } from './markdown-block.tsx';
import { ToolRow } from './tool-row.tsx';
import { useStore } from './use-console.ts';
import type { Row, ThinkingRow as Thinking } from '../state/row.ts';

interface RowViewProps {
  readonly row: Row;
  readonly open: boolean;
  /** Its turn is at work. */
  readonly busy: boolean;
  /** Text is still to be added to it. */
  readonly live: boolean;
  readonly canFork: boolean;
}

export const RowView = memo(function RowView({ row, open, busy, live, canFork }: RowViewProps) {
  if (!isPainted(row)) return null;
  switch (row.kind) {
    case 'user':
      return (
        <article className="row row-user" aria-label="You">
          <p className="user-text">{row.text}</p>
          <RowActions row={row} text={row.text} fork={canFork ? 'Edit and fork' : null} />
        </article>
      );
    case 'assistant':
      return (
        <article className="row row-assistant" aria-label="Agent">
          <MarkdownBlock text={row.text} live={live} />
          {!busy && <RowActions row={row} text={row.text} fork={canFork ? 'Fork from here' : null} />}
        </article>
      );
    case 'thinking':
      return <ThinkingRow row={row} open={open} busy={busy} live={live} />;
    case 'tool_run':
      return (
        <div className="row row-tool">
          <ToolRow row={row} open={open} />
        </div>
      );
    case 'system':
    case 'error':
      return (
        <div className={`row row-${row.kind} ${row.text.startsWith(endPrefix) ? 'row-end' : ''}`}>
          {row.kind === 'error' && <Icon name="alert" />}
          <p>{row.text}</p>
        </div>
      );
  }
});

interface RowActionsProps {
  readonly row: Row;
  readonly text: string;
  /** Null: not now. */
  readonly fork: string | null;
}

function RowActions({ row, text, fork }: RowActionsProps) {
  const store = useStore();
  return (
    <div className="row-actions">
      <CopyButton text={() => text} />
      {fork !== null && (
        <IconButton icon="branch" label={fork} onClick={() => store.dispatch({ type: 'forked', row: row.id })} />
      )}
    </div>
  );
}

/** Open in full while its turn is at work, and not to be closed then (C-025, C-026). */
function ThinkingRow({ row, open, busy, live }: { readonly row: Thinking } & Omit<RowViewProps, 'row' | 'canFork'>) {
  const store = useStore();
  return (
    <div className="row row-thinking">
      <div className="thinking-head">
        <button
          type="button"
          className="thinking-toggle"
          aria-expanded={open}
          aria-disabled={busy}
          onClick={() => store.dispatch({ type: 'row_toggled', row: row.id, open: !open })}
        >
          <Icon name="chevron" />
          <span>Thinking</span>
          {!open && <span className="thinking-preview">{thinkingPreview(row)}</span>}
        </button>
        <CopyButton text={() => row.text} />
      </div>
      {open && (
        <div className="thinking-text">
          <MarkdownBlock text={row.text} live={live} />
        </div>
      )}
    </div>
  );
}
