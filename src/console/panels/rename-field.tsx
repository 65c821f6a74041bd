import { useState } from 'react';
import { useFocused } from './use-focused.ts';
import { useStore } from './use-console.ts';

interface RenameFieldProps {
  readonly sessionId: string;
  readonly title: string;
  /** What has the focus after a key has ended it. */
  readonly returnTo: string;
  readonly onEnd: () => void;
}

export function RenameField({ sessionId, title, returnTo, onEnd }: RenameFieldProps) {
  const store = useStore();
  const field = useFocused<HTMLInputElement>();
  const [text, setText] = useState(title);
  const end = (keep: boolean) => {
    if (keep && text !== title) store.dispatch({ type: 'session_renamed', sessionId, title: text });
    onEnd();
  };
  return (
    <input
      className="rename"
      aria-label="Title"
      ref={field}
      onFocus={(event) => event.currentTarget.select()}
      value={text}
      maxLength={200}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={() => end(true)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing || (event.key !== 'Enter' && event.key !== 'Escape')) return;
        event.preventDefault();
        end(event.key === 'Enter');
        // What is to have it may only come when this has gone.
        setTimeout(() => document.getElementById(returnTo)?.focus());
      }}
    />
  );
}
