// Requests beside the stream: what a person said to a task, and what is listed. Each effect has one answer.

import { ConflictError, NotFoundError, UhpError, type Client } from '../../client/index.ts';
import { field } from '../../client/loose.ts';
import { messageOf } from './call-failures.ts';
import type { ActionBody } from '../state/action.ts';
import type { Approval } from '../state/wire.ts';
import type { Effect } from '../state/effect.ts';

type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

export async function cancelTurn(client: Client, { turn, responseId }: Of<'cancel'>): Promise<ActionBody> {
  try {
    return { type: 'response_read', turn, response: await client.responses.cancel(responseId) };
  } catch (error) {
    return { type: 'cancel_failed', turn, message: messageOf(error) };
  }
}

/** @returns  The session as it stands then. */
export async function resumeTurn(client: Client, { sessionId, responseId }: Of<'resume'>): Promise<ActionBody> {
  await client.responses.resume(responseId);
  return { type: 'session_seen', session: await client.sessions.get(sessionId) };
}

export async function steerTurn(client: Client, { responseId, messageId, text }: Of<'steer'>): Promise<ActionBody> {
  try {
    await client.steer(responseId, text, { messageId });
    return { type: 'steered', messageId };
  } catch (error) {
    return { type: 'steer_failed', messageId, why: whyNotSteered(error) };
  }
}

function whyNotSteered(error: unknown): 'ended' | 'unsupported' | 'error' {
  if (!(error instanceof UhpError)) return 'error';
  if (error.code === 'reins_task_ended') return 'ended';
  return error.code === 'reins_capability_unsupported' ? 'unsupported' : 'error';
}

export async function decideApproval(client: Client, effect: Of<'decide'>): Promise<ActionBody> {
  const { approvalId } = effect;
  try {
    return { type: 'decided', approval: await say(client, effect) };
  } catch (error) {
    const why = whyNotDecided(error);
    return { type: 'decide_failed', approvalId, why, message: messageOf(error), approval: approvalIn(error) };
  }
}

function say({ approvals }: Client, effect: Of<'decide'>): Promise<Approval> {
  switch (effect.verb) {
    case 'decide':
      return approvals.decide(effect.approvalId, effect.body);
    case 'answer':
      return approvals.answer(effect.approvalId, effect.body);
    case 'resolve':
      return approvals.resolve(effect.approvalId, effect.body);
  }
}

function whyNotDecided(error: unknown): 'conflict' | 'closed' | 'error' {
  if (error instanceof ConflictError) return error.code === 'reins_approval_conflict' ? 'conflict' : 'closed';
  return error instanceof NotFoundError ? 'closed' : 'error';
}

/** As it stands on the server, where a refusal says so. */
function approvalIn(error: unknown): Approval | null {
  const told = error instanceof UhpError ? field(error.detail, 'approval') : null;
  return isApproval(told) ? told : null;
}

function isApproval(value: unknown): value is Approval {
  return field(value, 'object') === 'reins.approval' && typeof field(value, 'id') === 'string';
}
