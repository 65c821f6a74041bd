import type { EventBase, EventData, RunEvent, RunEventType } from './run-event.ts';

type WithoutPrivate<D> = D extends object ? { [K in keyof D as K extends `_${string}` ? never : K]: D[K] } : D;

/** An event as everybody but the log and its folds may see it (E-104). */
export type PublicEvent = {
  [T in RunEventType]: EventBase & { readonly type: T; readonly data: WithoutPrivate<EventData[T]> };
}[RunEventType];

/** Events with private fields; an event of another type that gets one does not compile below. */
type PrivateType =
  | { [T in RunEventType]: keyof EventData[T] & `_${string}` extends never ? never : T }[RunEventType]
  | 'turn-complete';

/**
 * The event without its private fields (E-104). Only the places where the vocabulary has them are cleaned: what a tool was
 * given or a client sent may rightly hold a key with an underscore.
 */
export function publicEvent(event: RunEvent): PublicEvent {
  if (event.type === 'run-started') {
    const { _config, _base, ...data } = event.data;
    return { ...event, data };
  }
  if (event.type === 'tool-call-complete') {
    const { _raw, ...data } = event.data;
    return { ...event, data };
  }
  if (event.type === 'turn-complete')
    return { ...event, data: { ...event.data, parts: event.data.parts.map(({ _provider, ...part }) => part) } };
  return event satisfies Exclude<RunEvent, { type: PrivateType }>;
}
