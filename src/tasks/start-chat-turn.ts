// What a chat says becomes a turn, or a word to the one at work. What can be refused is refused before any stream (P-086 to
// P-094).
//
// C1. The last message is the only input; its id is the key under which its turn is known, so that it is begun once.
// C2. While something waits for a person, a new message takes its place: said first and decided then, so that it is read at the
//     next step whatever becomes of the calls.
// C3. A turn is taken back by going on from the one before it in a new session; what was there stays there.

import { acceptTask, type TaskRequest } from './accept-task.ts';
import { askedId, beginningOf, steeredAs } from './chat-turn.ts';
import { CapabilityUnsupportedError, RequestError, SessionBusyError } from '../core/errors.ts';
import { decideApproval, type Verdict } from './decide-approval.ts';
import { findChat, turnsOfChat, type Chat } from './find-chat.ts';
import { findContinuable } from './find-in-scope.ts';
import { plainTask } from './task-body.ts';
import { runIds, type RunId } from '../core/ids.ts';
import { steerTask } from './steer-task.ts';
import type { ChatPlace } from './follow-chat.ts';
import type { InputPart } from '../core/input-file.ts';
import type { JsonValue } from '../core/json.ts';
import type { PendingTool } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

export interface ChatSaid {
  readonly chatId: string;
  readonly message: {
    readonly id: string;
    readonly content: readonly InputPart[];
    readonly items: readonly JsonValue[];
  };
  readonly model: string | null;
  /** Of a chat that this begins. */
  readonly harnessId: string | null;
}

/** A new message. @param steer  Whether a turn at work may be given it. @throws RequestError */
export async function startChatTurn(
  services: Services,
  principal: string,
  { steer, ...said }: ChatSaid & { readonly steer: boolean },
): Promise<ChatPlace> {
  const { store } = services;
  const known = await store.idempotency(principal, keyOf(said));
  if (known !== null) {
    const { runId } = await findContinuable(services, principal, { name: known.runId });
    return { runId, message: 0, after: 0 };
  }
  const chat = await findChat(services, principal, said.chatId);
  const runId = chat.session === null ? null : (chat.session.runningRunId ?? (await store.tip(chat.session.sessionId)));
  const steered = runId === null ? null : await steeredAs(services, runId, said.message.id);
  if (runId !== null && steered !== null) return { runId, message: steered, after: 0 };
  if (chat.session !== null && chat.session.runningRunId !== null)
    return sayToTurn(services, principal, { ...said, steer, runId: chat.session.runningRunId });
  const previous = runId === null ? {} : { previousResponseId: runId };
  return accept(services, principal, { said, chat, key: keyOf(said), body: previous });
}

/** The same message again, or another one in its place. What the server was never told is new. @throws RequestError */
export async function redoChatTurn(services: Services, principal: string, said: ChatSaid): Promise<ChatPlace> {
  const chat = await findChat(services, principal, said.chatId);
  const run = chat.session === null ? null : await turnAsked(services, chat.session, said.message.id);
  if (chat.session === null || run === null) return startChatTurn(services, principal, { ...said, steer: false });
  if (chat.session.runningRunId !== null) throw busy();
  await requireForks(services, run);
  const { previousRunId, harnessId } = run;
  const from = previousRunId === null ? { harnessId } : { previousResponseId: previousRunId, fork: true };
  const key = `chat ${said.chatId} redo ${chat.next}`;
  return accept(services, principal, { said, chat: { ...chat, session: null }, key, body: from });
}

function keyOf({ chatId, message }: ChatSaid): string {
  return `chat ${chatId} ${message.id}`;
}

async function accept(
  services: Services,
  principal: string,
  o: {
    readonly said: ChatSaid;
    readonly chat: Chat;
    readonly key: string;
    readonly body: Partial<TaskRequest['body']>;
  },
): Promise<ChatPlace> {
  const { message, model, harnessId } = o.said;
  const isNew = o.chat.session === null;
  const ids = { runId: runIds.make(services.random.token()), sessionId: o.chat.next };
  const accepted = await acceptTask(services, {
    principal,
    body: {
      ...plainTask,
      messages: [{ content: message.content, messageId: message.id }],
      inputItems: message.items,
      model,
      harnessId: isNew ? harnessId : null,
      ...o.body,
    },
    idempotency: { key: o.key, bodyHash: message.id },
    ...(isNew ? { ids } : {}),
  }).catch((cause: unknown) => {
    throw cause instanceof SessionBusyError ? busy(cause) : cause;
  });
  return { runId: accepted.runId, message: 0, after: 0 };
}

/** C2. */
async function sayToTurn(
  services: Services,
  principal: string,
  said: ChatSaid & { readonly steer: boolean; readonly runId: RunId },
): Promise<ChatPlace> {
  const { runId, message, steer } = said;
  const open = await services.store.approvals({ principal, runId, status: 'open', limit: 100 });
  if (open.length === 0 && !steer) throw busy();
  const word = { content: message.content, messageId: message.id };
  const taken = await steerTask(services, principal, { responseId: runId, message: word }).catch((cause: unknown) => {
    if (!(cause instanceof CapabilityUnsupportedError) || open.length === 0) throw cause;
    return null;
  });
  for (const { pending } of open) await supersede(services, principal, pending);
  // It takes no word while it works, and it does so again: the message comes when it has ended.
  if (taken === null) throw busy();
  return { runId, message: (await steeredAs(services, runId, message.id)) ?? 1, after: 0 };
}

async function supersede(services: Services, principal: string, { approvalId, kind }: PendingTool): Promise<void> {
  try {
    await decideApproval(services, principal, { approvalId, verdict: refusalOf(kind) });
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

async function turnAsked(
  services: Services,
  session: NonNullable<Chat['session']>,
  messageId: string,
): Promise<RunRecord | null> {
  for (const run of (await turnsOfChat(services, session)).toReversed()) {
    const first = await beginningOf(services, run.runId);
    if (first !== null && askedId(first) === messageId) return run;
  }
  return null;
}

/** C3. */
async function requireForks({ store, harnesses }: Services, { harnessId }: RunRecord): Promise<void> {
  const base = (await store.harness(harnessId))?.base ?? '';
  if ((await harnesses.adapter(base)?.probe())?.capabilities.fork === 'yes') return;
  throw new RequestError({
    status: 422,
    errorType: 'invalid_request_error',
    code: 'reins_capability_unsupported',
    message: 'this harness cannot rewrite history',
  });
}

function busy(cause?: unknown): RequestError {
  const message = 'session is busy';
  return new RequestError({ status: 409, errorType: 'invalid_request_error', code: 'session_busy', message, cause });
}
