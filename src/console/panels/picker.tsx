import { useEffect, useId, useMemo, useRef } from 'react';
import { choicesOf, chosenText, type Choice } from './choices.ts';
import { Icon } from './icon.tsx';
import { useConsole, useStore } from './use-console.ts';

/** Model, harness and working directory for the next turn (C-047). */
export function Picker() {
  const store = useStore();
  const open = useConsole((state) => state.overlay?.kind === 'picker');
  const catalogue = useConsole((state) => state.catalogue);
  const composer = useConsole((state) => state.composer);
  const session = useConsole((state) => state.session);
  const sessions = useConsole((state) => state.sessions);
  const choices = useMemo(
    () => choicesOf({ catalogue, composer, session, sessions }),
    [catalogue, composer, session, sessions],
  );
  const chosen = chosenText(choices) || 'Server’s choice';
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const opener = button.current;
    const outside = ({ target }: PointerEvent) => {
      if (target instanceof Node && place.current?.contains(target) === false)
        store.dispatch({ type: 'overlay_closed' });
    };
    document.addEventListener('pointerdown', outside);
    return () => {
      document.removeEventListener('pointerdown', outside);
      if (document.activeElement === document.body) opener?.focus();
    };
  }, [open, store]);
  return (
    <div className="picker" ref={place}>
      <button
        ref={button}
        type="button"
        className="picker-button"
        aria-label={`${chosen}: model, harness and folder`}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => store.dispatch(open ? { type: 'overlay_closed' } : openPicker)}
      >
        <span>{chosen}</span>
        <Icon name="chevron" />
      </button>
      {open && (
        <div className="picker-panel" role="dialog" aria-label="For the next turn">
          <Radios
            title="Model"
            name="model"
            choices={choices.models}
            chosen={choices.model}
            onChoose={(model) => store.dispatch({ type: 'choice_changed', choice: { model } })}
          />
          <Radios
            title="Harness"
            name="harness"
            choices={choices.harnesses}
            chosen={choices.harness}
            // A model of another harness is none of this one.
            onChoose={(harness) => store.dispatch({ type: 'choice_changed', choice: { harness, model: null } })}
          />
          <Folder />
        </div>
      )}
    </div>
  );
}

const openPicker = { type: 'overlay_opened', overlay: { kind: 'picker' } } as const;

interface RadiosProps {
  readonly title: string;
  readonly name: string;
  readonly choices: readonly Choice[];
  readonly chosen: string | null;
  readonly onChoose: (value: string) => void;
}

function Radios({ title, name, choices, chosen, onChoose }: RadiosProps) {
  const id = useId();
  const reasons = [...new Set(choices.flatMap(({ why }) => why ?? []))];
  const had = choices.filter(({ why }) => why === null);
  const others = choices.length - had.length;
  const radio = ({ value, label, mark, why }: Choice) => (
    <label key={value} className={why === null ? 'choice' : 'choice choice-off'}>
      <input
        type="radio"
        name={name}
        checked={value === chosen}
        disabled={why !== null}
        aria-describedby={why === null ? undefined : `${id}-${reasons.indexOf(why)}`}
        onChange={() => onChoose(value)}
      />
      <span>
        {label}
        {mark !== null && <span className="mark">{mark}</span>}
      </span>
    </label>
  );
  return (
    <fieldset className="radios">
      <legend>{title}</legend>
      {choices.length === 0 && <p className="hint">The server names none.</p>}
      {had.map(radio)}
      {others > 0 && (
        <details className="choices-off" open={had.length === 0}>
          <summary>{others} not available</summary>
          {reasons.map((reason, at) => (
            <div key={reason} className="radios">
              <p id={`${id}-${at}`} className="choice-why">
                {reason}
              </p>
              {choices.filter(({ why }) => why === reason).map(radio)}
            </div>
          ))}
        </details>
      )}
    </fieldset>
  );
}

/** A task has a folder of its own (UD-86); only the simple mode works in one that is named. */
function Folder() {
  const store = useStore();
  const cwd = useConsole((state) => state.composer.cwd);
  const simple = useConsole((state) => state.preferences.transport === 'agent');
  return (
    <label className="stacked">
      <span className="legend">Working directory</span>
      <input
        value={simple ? (cwd ?? '') : ''}
        placeholder={simple ? 'The server’s default' : 'The session’s own folder'}
        disabled={!simple}
        spellCheck={false}
        onChange={({ currentTarget: { value } }) =>
          store.dispatch({ type: 'choice_changed', choice: { cwd: value === '' ? null : value } })
        }
      />
      {!simple && <span className="choice-why">Each session has a folder of its own. Simple mode works in any.</span>}
    </label>
  );
}
