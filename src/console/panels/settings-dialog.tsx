import { Dialog } from './dialog.tsx';
import { useConsole, useStore } from './use-console.ts';
import type { Preferences } from '../state/state.ts';

const themes = [
  ['system', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;
const enters = [
  ['send', 'Sends; Shift+Enter makes a line'],
  ['newline', 'Makes a line; Shift+Enter sends'],
] as const;
const transports = [
  ['task', 'Kept: the agent goes on when this page is closed'],
  ['agent', 'Simple: it ends with the page'],
] as const;
const keys = [
  ['Ctrl+Enter', 'Send'],
  ['Ctrl+.', 'Stop'],
  ['Ctrl+K', 'Search sessions'],
  ['Esc', 'Close what is open; in the message, stop'],
  ['↑', 'In an empty message: edit what waits, or recall the last one'],
] as const;

export function SettingsDialog({ onClose }: { readonly onClose: () => void }) {
  const store = useStore();
  const { theme, enter, transport } = useConsole((state) => state.preferences);
  const busy = useConsole((state) => state.phase.name !== 'ready');
  const set = (change: Partial<Preferences>) => store.dispatch({ type: 'preferences_changed', change });
  return (
    <Dialog title="Settings" onClose={onClose}>
      <Options title="Colours" options={themes} chosen={theme} onChoose={(value) => set({ theme: value })} />
      <Options title="Enter" options={enters} chosen={enter} onChoose={(value) => set({ enter: value })} />
      <Options
        title="Turns"
        options={transports}
        chosen={transport}
        disabled={busy}
        onChoose={(value) => set({ transport: value })}
      />
      <h3>Keys</h3>
      <dl className="facts">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p className="hint">On a Mac, Cmd stands for Ctrl.</p>
    </Dialog>
  );
}

interface OptionsProps<T extends string> {
  readonly title: string;
  readonly options: readonly (readonly [T, string])[];
  readonly chosen: T;
  readonly disabled?: boolean;
  readonly onChoose: (value: T) => void;
}

function Options<T extends string>({ title, options, chosen, disabled = false, onChoose }: OptionsProps<T>) {
  return (
    <fieldset className="radios" disabled={disabled}>
      <legend>{title}</legend>
      {options.map(([value, label]) => (
        <label key={value} className="choice">
          <input type="radio" name={title} checked={value === chosen} onChange={() => onChoose(value)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
