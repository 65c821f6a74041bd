import { useEffect, useState } from 'react';
import { useStore } from './use-console.ts';

/** All that is spoken (C-072): boundaries by the one, errors and decisions by the other. */
export function Announcer() {
  const store = useStore();
  const [said, setSaid] = useState({ status: '', alert: '' });
  useEffect(
    () =>
      store.onPageEffect((effect) => {
        // What was said before is over: an alert that stays would be read again as if it still held.
        if (effect.type === 'announce') setSaid({ status: '', alert: '', [effect.urgency]: effect.text });
      }),
    [store],
  );
  return (
    <div className="spoken">
      <p role="status">{said.status}</p>
      <p role="alert">{said.alert}</p>
    </div>
  );
}
