import { emptyTranscript, extendTranscript, type Message } from '../core/transcript.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/**
 * The session's conversation before this run: the transcripts of its earlier runs, in order. A deleted response stays part
 * of it (UD-08). Transcripts are made of committed events alone, so no delta is read.
 */
export async function readHistory({ store, log }: Services, run: RunRecord): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for (const { runId, turn } of await store.runIdsOfSession(run.sessionId)) {
    if (turn >= run.turn) break;
    let transcript = emptyTranscript;
    for await (const events of log.readAll(runId, { committedOnly: true }))
      for (const event of events) transcript = extendTranscript(transcript, event);
    messages.push(...transcript.messages);
  }
  return messages;
}
