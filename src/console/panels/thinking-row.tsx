import { CopyButton } from './copy-button.tsx';
import { Icon } from './icon.tsx';
import { MarkdownBlock } from './markdown-block.tsx';
import { thinkingPreview } from '../state/open-rows.ts';
import { useStore } from './use-console.ts';
import type { ThinkingRow as Row } from '../state/row.ts';

interface ThinkingRowProps {
  readonly row: Row;
  readonly open: boolean;
  readonly busy: boolean;
  readonly live: boolean;
}

/** Open in full while its turn is at work, and not to be closed then (C-025, C-026). */
export function ThinkingRow({ row, open, busy, live }: ThinkingRowProps) {
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
          <span className="thinking-label">Thinking</span>
          {!open && <span className="thinking-preview">{thinkingPreview(row)}</span>}
        </button>
        <CopyButton text={() => row.text} label="Copy the thinking" />
      </div>
      {open && (
        <div className="thinking-text">
          <MarkdownBlock text={row.text} live={live} />
        </div>
      )}
    </div>
  );
}
