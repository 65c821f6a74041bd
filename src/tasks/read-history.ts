import { emptyTranscript, extendTranscript, viewOf, withoutPlace } from '../core/transcript.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';
import type { SessionHistory } from '../stores/session-store.ts';

const noHistory: SessionHistory = { messages: [], todos: null };

/**
 * The session before this run: what it was forked with, then the transcripts of its earlier runs, in order, as the next run's
 * model reads them: what an earlier run left out of its own view stays out (E-442). A deleted response stays part of it (UD-08).
 * Transcripts are made of committed events alone, so no delta is read.
 */
export async function readHistory(
  { store, log }: Pick<Services, 'store' | 'log'>,
  { sessionId, turn: before }: Pick<RunRecord, 'sessionId' | 'turn'>,
): Promise<SessionHistory> {
  let { messages, todos } = (await store.forkHistory(sessionId)) ?? noHistory;
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
