import { emptyTranscript, extendTranscript, viewOf, withoutPlace, type Message } from '../core/transcript.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';
import type { Todo } from '../core/run-event.ts';

export interface SessionHistory {
  /** As the next run's model reads it: what an earlier run left out of its own view stays out (E-442). */
  readonly messages: readonly Message[];
  /** The task list as it was left; null = there never was one (E-642). */
  readonly todos: readonly Todo[] | null;
}

/**
 * The session before this run: the transcripts of its earlier runs, in order. A deleted response stays part of it (UD-08).
 * Transcripts are made of committed events alone, so no delta is read.
 */
export async function readHistory(
  { store, log }: Pick<Services, 'store' | 'log'>,
  { sessionId, turn: before }: Pick<RunRecord, 'sessionId' | 'turn'>,
): Promise<SessionHistory> {
  let messages: readonly Message[] = [];
  let todos: readonly Todo[] | null = null;
  for (const { runId, turn } of await store.runIdsOfSession(sessionId)) {
    if (turn >= before) break;
    let transcript = emptyTranscript;
    for await (const events of log.readAll(runId, { committedOnly: true }))
      for (const event of events) {
        transcript = extendTranscript(transcript, event);
        if (event.type === 'todos-updated' && (event.agentPath ?? []).length === 0) todos = event.data.todos;
      }
    messages = viewOf(transcript, messages).map(withoutPlace);
  }
  return { messages, todos };
}
