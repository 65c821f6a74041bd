import { CopyButton } from './copy-button.tsx';
import { Icon } from './icon.tsx';
import { IconButton } from './icon-button.tsx';
import { useStore } from './use-console.ts';
import type { ErrorRow, SystemRow } from '../state/row.ts';

interface EndRowProps {
  readonly row: SystemRow | ErrorRow;
  readonly canFork: boolean;
}

/** The line that a turn ends with, and what can be done with the turn as a whole. */
export function EndRow({ row, canFork }: EndRowProps) {
  const store = useStore();
  const answer = () => {
    const { rows } = store.getState();
    const said = rows.flatMap((each) => (each.turn === row.turn && each.kind === 'assistant' ? each.text.trim() : []));
    return said.join('\n\n');
  };
  return (
    <div className={`row row-end row-${row.kind}`}>
      {row.kind === 'error' && <Icon name="alert" />}
      <p>{row.text}</p>
      <div className="row-actions">
        <CopyButton text={answer} label="Copy the answer" />
        {canFork && (
          <IconButton
            icon="branch"
            label="Fork from here"
            onClick={() => store.dispatch({ type: 'forked', row: row.id })}
          />
        )}
      </div>
    </div>
  );
}
