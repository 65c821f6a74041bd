import { useState } from 'react';
import { chipNote } from '../state/queue.ts';
import { IconButton } from './icon-button.tsx';
import { useConsole, useStore } from './use-console.ts';
import { useFocused } from './use-focused.ts';
import type { Chip } from '../state/state.ts';

/** Messages that wait, in order (C-045). */
export function QueueChips() {
  const chips = useConsole((state) => state.queue.chips);
  if (chips.length === 0) return null;
  return (
    <ol className="chips" aria-label="Messages that wait">
      {chips.map((chip) => (
        <QueueChip key={chip.id} chip={chip} />
      ))}
    </ol>
  );
}

function QueueChip({ chip }: { readonly chip: Chip }) {
  const store = useStore();
  const note = useConsole((state) => chipNote(state, chip));
  const [editing, setEditing] = useState<string | null>(null);
  if (editing !== null)
    return (
      <li className="chip">
        <ChipEditor
          text={editing}
          onText={setEditing}
          onEnd={(keep) => {
            if (keep && editing.trim() !== '') store.dispatch({ type: 'chip_edited', id: chip.id, text: editing });
            setEditing(null);
          }}
        />
      </li>
    );
  return (
    <li className="chip">
      <span className="chip-text">{chip.text}</span>
      <span className="chip-note">{note}</span>
      {chip.state === 'waiting' && (
        <>
          <IconButton icon="pencil" label="Edit message" onClick={() => setEditing(chip.text)} />
          <IconButton
            icon="close"
            label="Remove message"
            onClick={() => store.dispatch({ type: 'chip_removed', id: chip.id })}
          />
        </>
      )}
    </li>
  );
}

interface ChipEditorProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  /** @param keep  False: as it was. */
  readonly onEnd: (keep: boolean) => void;
}

function ChipEditor({ text, onText, onEnd }: ChipEditorProps) {
  const field = useFocused<HTMLTextAreaElement>();
  return (
    <>
      <textarea
        className="chip-editor"
        aria-label="Message that waits"
        rows={2}
        ref={field}
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
        onKeyDown={(event) => {
          const { isComposing } = event.nativeEvent;
          if (isComposing || (event.key !== 'Escape' && (event.key !== 'Enter' || event.shiftKey))) return;
          // Else the page takes Escape for Stop.
          event.preventDefault();
          onEnd(event.key === 'Enter');
        }}
      />
      <button type="button" onClick={() => onEnd(true)}>
        Save
      </button>
      <button type="button" className="quiet-button" onClick={() => onEnd(false)}>
        Cancel
      </button>
    </>
  );
}
