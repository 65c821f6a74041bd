import type { RunEvent } from '../core/run-event.ts';

/**
 * The event without its private fields (E-104), as `--json` prints it. Only the places where the vocabulary has them are
 * cleaned: what a tool was given or a client sent may rightly hold a key with an underscore.
 */
export function publicEvent(event: RunEvent): object {
  if (typeof event.data === 'string') return event;
  const data = withoutPrivate(event.data);
  if (event.type !== 'turn-complete') return { ...event, data };
  return { ...event, data: { ...data, parts: event.data.parts.map(withoutPrivate) } };
}

function withoutPrivate(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('_')));
}
