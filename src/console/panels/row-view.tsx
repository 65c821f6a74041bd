import { memo } from 'react';
import { CopyButton } from './copy-button.tsx';
import { Icon } from './icon.tsx';
import { IconButton } from './icon-button.tsx';
import { isPainted } from '../state/open-rows.ts';
import { MarkdownBlock } from './markdown-block.tsx';
import { ThinkingRow } from './thinking-row.tsx';
import { ToolRow } from './tool-row.tsx';
import { useStore } from './use-console.ts';
import type { Row, UserRow as User } from '../state/row.ts';

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
      return <UserRow row={row} canFork={canFork} />;
    case 'assistant':
      return (
        <article className="row row-assistant" aria-label="Agent">
          <MarkdownBlock text={row.text} live={live} />
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
        <div className={`row row-${row.kind}`}>
          {row.kind === 'error' && <Icon name="alert" />}
          <p>{row.text}</p>
        </div>
      );
  }
});

function UserRow({ row, canFork }: { readonly row: User; readonly canFork: boolean }) {
  const store = useStore();
  return (
    <article className="row row-user" aria-label="You">
      <p className="user-text">{row.text}</p>
      <div className="row-actions">
        <CopyButton text={() => row.text} label="Copy the message" />
        {canFork && (
          <IconButton
            icon="branch"
            label="Edit and fork"
            onClick={() => store.dispatch({ type: 'forked', row: row.id })}
          />
        )}
      </div>
    </article>
  );
}
