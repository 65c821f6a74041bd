import { emptyTranscript, extendTranscript, type Message } from '../core/transcript.ts';
import type { RunId } from '../core/ids.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

const pageEvents = 512;

/**
 * The session's conversation before this run: the transcripts of its earlier runs, in order. A deleted response stays part
 * of it (UD-08).
 */
export async function readHistory(services: Services, run: RunRecord): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for (const { runId, turn } of await services.store.runIdsOfSession(run.sessionId))
    if (turn < run.turn) messages.push(...(await readMessages(services, runId)));
  return messages;
}

/** The transcript of one run: it is made of committed events alone, so no delta is read. */
async function readMessages({ store }: Services, runId: RunId): Promise<readonly Message[]> {
  let transcript = emptyTranscript;
  let after = 0;
  for (;;) {
    const events = await store.readEvents(runId, { after, limit: pageEvents, committedOnly: true });
    const last = events.at(-1);
    if (last === undefined) return transcript.messages;
    for (const event of events) transcript = extendTranscript(transcript, event);
    after = last.seq;
  }
}
