import { useEffect, useState } from 'react';
import { useStore } from './use-console.ts';

/** All that is spoken (C-072): boundaries by the one, errors and decisions by the other. */
export function Announcer() {
  const store = useStore();
  const [said, setSaid] = useState({ status: '', alert: '' });
  useEffect(
    () =>
      store.onPageEffect((effect) => {
        if (effect.type === 'announce') setSaid((before) => ({ ...before, [effect.urgency]: effect.text }));
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
