// What a chat says becomes a turn, or a word to the one at work. What can be refused is refused before any stream (P-086 to
// P-094).
//
// C1. The last message is the only input; its id is the key under which its turn is known, so that it is begun once.
// C2. While something waits for a person, a new message takes its place: said first and decided then, so that it is read at the
//     next step whatever becomes of the calls.
// C3. A turn is taken back by going on from the one before it in a new session; what was there stays there.

import { acceptTask } from './accept-task.ts';
import { askedId, turnSoFar } from './chat-turn.ts';
import { beginningOf } from './beginning-of.ts';
import { CapabilityUnsupportedError, RequestError, SessionBusyError } from '../core/errors.ts';
import { decideAs, type Asker } from './decide-as.ts';
import { findChat, turnsOfChat } from './find-chat.ts';
import { findContinuable } from './find-in-scope.ts';
import { plainTask } from './task-body.ts';
import { runIds, type RunId, type SessionId } from '../core/ids.ts';
import { steerTask } from './steer-task.ts';
import type { ChatMessage } from '../core/chat.ts';
import type { ChatPlace } from './follow-chat.ts';
import type { PendingTool } from '../core/run-event.ts';
import type { RunRecord, SessionRecord } from '../stores/store.ts';
import type { Services } from './services.ts';
import type { Verdict } from './decide-approval.ts';

export interface ChatSaid {
  readonly chatId: string;
  readonly message: ChatMessage;
  readonly model: string | null;
  /** Of a chat that this begins. */
  readonly harnessId: string | null;
}

/** A new message. @param steer  Whether a turn at work may be given it. @throws RequestError */
export async function startChatTurn(
  services: Services,
  asker: Asker,
  { steer, ...said }: ChatSaid & { readonly steer: boolean },
): Promise<ChatPlace> {
  const { store } = services;
  const { principal } = asker;
  const key = keyOf(said);
  const known = await store.idempotency(principal, key);
  if (known !== null) return placeOf(await findContinuable(services, principal, { name: known.runId }));
  const { session, next } = await findChat(services, principal, said.chatId);
  // What it begins, it begins with; where all of it was deleted it goes on in the same place.
  if (session === null) return accept(services, principal, { said, key, sessionId: next });
  const runId = session.runningRunId ?? (await store.tip(session.sessionId));
  if (runId === null) {
    const { sessionId, harnessId } = session;
    return accept(services, principal, { said: { ...said, harnessId }, key, sessionId });
  }
  const { steeredAs } = await turnSoFar(services, runId, { messageId: said.message.id });
  if (steeredAs !== null) return { runId, message: steeredAs, after: 0 };
  if (session.runningRunId !== null) return sayToTurn(services, asker, { ...said, steer, runId, session });
  return accept(services, principal, { said: { ...said, harnessId: null }, key, from: runId });
}

/** The same message again, or another one in its place. What the server was never told is new. @throws RequestError */
export async function redoChatTurn(services: Services, asker: Asker, said: ChatSaid): Promise<ChatPlace> {
  const { principal } = asker;
  const { session, next } = await findChat(services, principal, said.chatId);
  const turns = session === null ? [] : await turnsOfChat(services, session);
  const at = await turnAsked(services, turns, said.message.id);
  const run = turns[at];
  if (session === null || run === undefined) return startChatTurn(services, asker, { ...said, steer: false });
  if (session.runningRunId !== null) throw new SessionBusyError(session.sessionId, session.runningRunId);
  const before = turns[at - 1];
  if (before === undefined)
    return accept(services, principal, { said: { ...said, harnessId: run.harnessId }, sessionId: next });
  await requireForks(services, before);
  return accept(services, principal, { said: { ...said, harnessId: null }, sessionId: next, from: before.runId });
}

function keyOf({ chatId, message }: ChatSaid): string {
  return `chat ${chatId} ${message.id}`;
}

/**
 * @param key  Absent: it is begun each time that it is asked for. Of two at once one finds its session taken.
 * @param sessionId  That the turn begins; absent: it goes on in that of `from`.
 * @param from  The turn before it.
 */
async function accept(
  services: Services,
  principal: string,
  o: {
    readonly said: ChatSaid;
    readonly key?: string;
    readonly sessionId?: SessionId;
    readonly from?: RunId;
  },
): Promise<ChatPlace> {
  const { message, model, harnessId } = o.said;
  const { key, sessionId, from = null } = o;
  return placeOf(
    await acceptTask(services, {
      principal,
      body: {
        ...plainTask,
        messages: [{ content: message.content, messageId: message.id }],
        inputItems: message.items,
        model,
        harnessId,
        previousResponseId: from,
        fork: sessionId !== undefined && from !== null,
      },
      idempotency: key === undefined ? null : { key, bodyHash: message.id },
      ...(sessionId === undefined ? {} : { ids: { runId: runIds.make(services.random.token()), sessionId } }),
    }),
  );
}

function placeOf({ runId }: { readonly runId: RunId }): ChatPlace {
  return { runId, message: 0, after: 0 };
}

/** C2. */
async function sayToTurn(
  services: Services,
  asker: Asker,
  said: ChatSaid & { readonly steer: boolean; readonly runId: RunId; readonly session: SessionRecord },
): Promise<ChatPlace> {
  const { runId, message, steer, session } = said;
  const { principal } = asker;
  const open = await services.store.approvals({ principal, runId, status: 'open', limit: 100 });
  const busy = new SessionBusyError(session.sessionId, runId);
  if (open.length === 0 && !steer) throw busy;
  const word = { content: message.content, messageId: message.id };
  const taken = await steerTask(services, principal, { responseId: runId, message: word }).catch((cause: unknown) => {
    if (!(cause instanceof CapabilityUnsupportedError) || open.length === 0) throw cause;
    return null;
  });
  for (const { pending } of open) await supersede(services, asker, pending);
  // It takes no word while it works, and it does so again: the message comes when it has ended.
  if (taken === null) throw busy;
  return { runId, message: (await turnSoFar(services, runId, { messageId: message.id })).steeredAs ?? 1, after: 0 };
}

async function supersede(services: Services, asker: Asker, { approvalId, kind }: PendingTool): Promise<void> {
  try {
    await decideAs(services, asker, { approvalId, verdict: refusalOf(kind) });
  } catch (cause) {
    // Somebody else has decided it meanwhile: it waits no more.
    if (!(cause instanceof RequestError) || cause.status >= 500) throw cause;
  }
}

function refusalOf(kind: PendingTool['kind']): Verdict {
  switch (kind) {
    case 'approval': {
      const note = 'superseded by a new message';
      return { verb: 'decide', decision: 'deny', argsDigest: null, note, remember: null };
    }
    case 'question':
      return { verb: 'answer', answers: 'declined' };
    case 'recovery':
      return { verb: 'resolve', action: 'abort' };
  }
}

/** Its place among the turns, where the newest of that message counts; -1: there is none. */
async function turnAsked(services: Services, turns: readonly RunRecord[], messageId: string): Promise<number> {
  for (const [back, { runId }] of turns.toReversed().entries()) {
    const first = await beginningOf(services, runId);
    if (first !== null && askedId(first) === messageId) return turns.length - 1 - back;
  }
  return -1;
}

/** C3. */
async function requireForks({ store, harnesses }: Services, { harnessId }: RunRecord): Promise<void> {
  const base = (await store.harness(harnessId))?.base ?? '';
  if ((await harnesses.adapter(base)?.probe())?.capabilities.fork === 'yes') return;
  throw new CapabilityUnsupportedError('cannot rewrite history');
}
