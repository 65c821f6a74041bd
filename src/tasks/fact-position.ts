import type { EventBase } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/** The place of a fact from outside: said now, in the leg and step that the log stands in. */
export async function factPosition(
  { store, clock }: Services,
  { runId, sessionId, lastSeq }: Pick<RunRecord, 'runId' | 'sessionId' | 'lastSeq'>,
): Promise<Omit<EventBase, 'seq'>> {
  const [last] = await store.readEvents(runId, { after: lastSeq - 1, limit: 1 });
  return { v: 1, runId, sessionId, at: clock.now(), leg: last?.leg ?? 1, step: last?.step ?? 0, attempt: 0 };
}
