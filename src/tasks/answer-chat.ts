// What a chat's client says of what its turn waits for (P-087, P-088): its message holds all that was ever decided in it, so
// what is new is told by what is open here, never by what a client made of it.

import { decideAs, type Asker } from './decide-as.ts';
import { NotFoundError, RequestError } from '../core/errors.ts';
import { findApproval } from './find-in-scope.ts';
import { findBegunChat } from './find-chat.ts';
import { isJsonObject, type JsonValue } from '../core/json.ts';
import { turnSoFar } from './chat-turn.ts';
import type { Answer, Question } from '../core/questions.ts';
import type { ApprovalRecord, SessionRecord } from '../stores/store.ts';
import type { ChatAnswer, ChatOutput } from '../core/chat.ts';
import type { ChatPlace } from './follow-chat.ts';
import type { Services } from './services.ts';
import type { Verdict } from './decide-approval.ts';

export interface ChatAnswers {
  readonly chatId: string;
  readonly answers: readonly ChatAnswer[];
  readonly outputs: readonly ChatOutput[];
}

interface Word {
  readonly record: ApprovalRecord;
  readonly verdict: Verdict;
}

/** Where the client reads on: behind all that it has. @throws RequestError  409 where nothing waits for these answers. */
export async function answerChat(services: Services, asker: Asker, said: ChatAnswers): Promise<ChatPlace> {
  const { store } = services;
  const { principal } = asker;
  const session = await findBegunChat(services, principal, said.chatId);
  const runId = session.runningRunId ?? (await store.tip(session.sessionId));
  const run = runId === null ? null : await store.run(runId);
  if (run === null) throw nothingWaits();
  const open = await store.approvals({ principal, runId: run.runId, status: 'open', limit: 100 });
  const fresh = [...decisionsOn(open, said), ...answersTo(open, said)];
  const repeated = await repeatedIn(services, session, { said, open });
  if (fresh.length + repeated.length === 0) throw nothingWaits();
  for (const { record, verdict } of [...repeated, ...fresh])
    await decideAs(services, asker, { approvalId: record.pending.approvalId, verdict });
  const { pending: { approvalId } = {}, runId: told = run.runId } = repeated[0]?.record ?? {};
  const place = await turnSoFar(services, told, approvalId === undefined ? {} : { approvalId });
  return { runId: told, message: place.told, after: place.decidedAt === null ? run.lastSeq : place.decidedAt - 1 };
}

function decisionsOn(open: readonly ApprovalRecord[], { answers }: ChatAnswers): readonly Word[] {
  return open.flatMap((record) => {
    const { approvalId, kind } = record.pending;
    const answer = kind === 'approval' ? answers.find((each) => each.approvalId === approvalId) : undefined;
    return answer === undefined ? [] : [{ record, verdict: verdictOf(answer) }];
  });
}

/** Decided before, as the client says once more because it has not heard what came of it. */
async function repeatedIn(
  services: Services,
  { principal, sessionId }: SessionRecord,
  { said, open }: { readonly said: ChatAnswers; readonly open: readonly ApprovalRecord[] },
): Promise<readonly Word[]> {
  const words: Word[] = [];
  for (const answer of said.answers) {
    if (answer.isSettled || open.some(({ pending }) => pending.approvalId === answer.approvalId)) continue;
    const record = await findApproval(services, principal, answer.approvalId);
    if (record.sessionId !== sessionId) throw new NotFoundError('approval');
    words.push({ record, verdict: verdictOf(answer) });
  }
  return words;
}

function verdictOf({ approved, reason: note }: ChatAnswer): Verdict {
  return { verb: 'decide', decision: approved ? 'approve' : 'deny', argsDigest: null, note, remember: null };
}

function answersTo(open: readonly ApprovalRecord[], { outputs }: ChatAnswers): readonly Word[] {
  return open.flatMap((record) => {
    const { approvalId, kind, call, questions = [] } = record.pending;
    if (kind !== 'question') return [];
    const given = outputs.findLast(({ toolCallId }) => toolCallId === call.id || toolCallId === approvalId);
    if (given === undefined) return [];
    return [{ record, verdict: { verb: 'answer', answers: answersIn(questions, given.output) } }];
  });
}

/** Answers by question where the output is such a list; any other text answers the first one. */
function answersIn(questions: readonly Question[], output: JsonValue | null): readonly Answer[] | 'declined' {
  if (output === null || (isJsonObject(output) && output['declined'] === true)) return 'declined';
  const given = isJsonObject(output) ? (output['answers'] ?? null) : output;
  if (Array.isArray(given)) return given.flatMap((each) => (isJsonObject(each) ? answerOf(each) : []));
  const [first] = questions;
  if (first === undefined) return 'declined';
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  return [first.options?.includes(text) === true ? { id: first.id, selected: [text] } : { id: first.id, text }];
}

function answerOf({ id, selected, text }: { readonly [key: string]: JsonValue }): Answer {
  return {
    id: typeof id === 'string' ? id : '',
    ...(Array.isArray(selected) ? { selected: selected.filter((each) => typeof each === 'string') } : {}),
    ...(typeof text === 'string' ? { text } : {}),
  };
}

function nothingWaits(): RequestError {
  return new RequestError({
    status: 409,
    errorType: 'invalid_request_error',
    code: 'reins_approval_closed',
    message: 'Nothing waits for this answer.',
  });
}
