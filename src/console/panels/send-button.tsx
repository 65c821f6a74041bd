import { buttonOf } from '../state/composer.ts';
import { Icon } from './icon.tsx';
import { useConsole, useStore } from './use-console.ts';
import type { ConsoleState } from '../state/state.ts';

const faces = {
  send: { label: 'Send', icon: 'send' },
  queue: { label: 'Send next', icon: 'send' },
  stop: { label: 'Stop', icon: 'stop' },
  stopping: { label: 'Stopping…', icon: 'stop' },
} as const;

/** One element for both (C-032), which keeps the focus: it is never disabled, but says when it does nothing. */
export function SendButton({ onSend }: { readonly onSend: () => void }) {
  const store = useStore();
  const button = useConsole(buttonOf);
  const idle = useConsole(isIdle);
  const { label, icon } = faces[button];
  const act = () => {
    if (button === 'stop') store.dispatch({ type: 'stop' });
    else if (button !== 'stopping') onSend();
  };
  return (
    <button
      type="button"
      className={`send-button send-${idle ? 'idle' : button}`}
      aria-label={label}
      title={label}
      aria-disabled={button === 'stopping'}
      onClick={act}
    >
      <Icon name={icon} />
    </button>
  );
}

/** There is nothing to send. */
function isIdle({ phase, composer, queue }: ConsoleState): boolean {
  return phase.name === 'ready' && composer.draft.trim() === '' && queue.chips.length === 0;
}
