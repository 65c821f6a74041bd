// How the page hears of the turn at work (C-039, C-040). When to try again, and from where, is the reducer's to say.
//
// T1. Without a slot the task is started without a stream, or not attached to, and the tab waits for a slot.
// T2. Nothing is told any more of what was let go of.
// T3. The server away is a stream lost. What it refuses for good ends the turn, but for a cursor that it does not know.

import { AuthenticationError, UhpError, type Client, type ParsedEvent, type StreamSource } from '../../client/index.ts';
import { fromAgent, fromAgentAnswer } from '../state/from-agent.ts';
import { fromUhp } from '../state/from-uhp.ts';
import { mayPass, messageOf, statusOf } from './call-failures.ts';
import { requestOf } from './request-of.ts';
import { turnOf } from '../state/state.ts';
import type { ActionLoop } from './action-loop.ts';
import type { Effect } from '../state/effect.ts';
import type { Platform } from './platform.ts';
import type { StreamHolder } from './stream-holder.ts';
import type { TurnId } from '../state/row.ts';
import type { UhpResponse } from '../state/wire.ts';

type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

export interface LinkParts {
  /** Tries each thing once. */
  readonly client: Client;
  readonly holder: StreamHolder;
  readonly random: Platform['random'];
  readonly loop: Pick<ActionLoop, 'getState' | 'dispatch'>;
  /** The browser is signed in no more. */
  readonly onSignedOut: () => void;
}

export async function sendTurn(parts: LinkParts, effect: Of<'send'>): Promise<void> {
  const { holder, client, loop } = parts;
  const { turn, delayMs } = effect;
  const signal = await holder.begin(turn, delayMs, 'take');
  if (signal === null) return;
  const request = requestOf(effect);
  loop.dispatch({ type: 'sent', turn });
  try {
    if (holder.slot !== null) {
      await follow(parts, { turn, source: { request, idempotencyKey: turn }, signal });
      if (!signal.aborted) lose(parts, turn, 'broken');
      return;
    }
    const response = await client.responses.create(request, { idempotencyKey: turn, signal });
    if (signal.aborted) return;
    const from = { kind: 'task', responseId: response.id, number: 0 } as const;
    const events = fromUhp({ type: 'response.created', sequence_number: 0, response });
    loop.dispatch({ type: 'received', turn, from, events });
    pollAndWait(parts, turn);
  } catch (error) {
    if (!signal.aborted) fail(parts, { turn, error, ifRefused: () => refuse(parts, turn, error) });
  }
}

export async function attachTurn(parts: LinkParts, { turn, responseId, after, delayMs }: Of<'attach'>): Promise<void> {
  const { holder } = parts;
  const signal = await holder.begin(turn, delayMs, 'take');
  if (signal === null) return;
  if (holder.slot === null) return pollAndWait(parts, turn);
  // From the start there is no cursor that could be unknown: it is tried again, with patience.
  const unheard = after < 0 ? 'broken' : 'unknown-cursor';
  try {
    const isOpen = await follow(parts, { turn, source: { responseId, after, reinsEvents: true }, signal });
    if (!signal.aborted) lose(parts, turn, isOpen ? 'broken' : unheard);
  } catch (error) {
    if (!signal.aborted) fail(parts, { turn, error, ifRefused: () => lose(parts, turn, unheard) });
  }
}

interface Following {
  readonly turn: TurnId;
  readonly source: StreamSource;
  readonly signal: AbortSignal;
}

/** @returns  Whether the server answered with a stream. */
async function follow({ client, holder, loop }: LinkParts, { turn, source, signal }: Following): Promise<boolean> {
  let responseId = 'responseId' in source ? source.responseId : null;
  let isOpen = false;
  const onOpen = () => {
    isOpen = true;
    if (responseId !== null) loop.dispatch({ type: 'attached', turn });
  };
  for await (const parsed of client.streamOnce(source, { signal, onOpen, onBytes: holder.touch })) {
    if (signal.aborted) break;
    responseId ??= nameIn(parsed);
    const { number, event } = parsed;
    if (responseId === null || number === null) continue;
    // What is not known moves the cursor all the same.
    const events = event === null ? [] : fromUhp(event);
    loop.dispatch({ type: 'received', turn, from: { kind: 'task', responseId, number }, events });
  }
  return isOpen;
}

function nameIn({ event }: ParsedEvent): string | null {
  return event !== null && 'response' in event ? event.response.id : null;
}

/** `POST /api/agent`: whoever hangs up ends the turn, so there is nothing to come back to. */
export async function sendSimpleTurn(parts: LinkParts, effect: Of<'sendSimple'>): Promise<void> {
  const { holder, client, loop } = parts;
  const { turn, prompt, model, cwd } = effect;
  const signal = await holder.begin(turn, 0, 'wait');
  if (signal === null) return;
  loop.dispatch({ type: 'sent', turn });
  let isBegun = false;
  try {
    for await (const event of client.agent({ prompt, modelId: model, cwd }, { signal })) {
      if (signal.aborted) return;
      isBegun = true;
      if (event.type === 'answer') loop.dispatch({ type: 'answered', turn, events: fromAgentAnswer(event) });
      else loop.dispatch({ type: 'received', turn, from: { kind: 'agent' }, events: fromAgent(event) });
    }
    if (!signal.aborted) lose(parts, turn, 'broken');
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof AuthenticationError) parts.onSignedOut();
    else if (isBegun) lose(parts, turn, 'broken');
    else refuse(parts, turn, error);
  }
}

/** @returns  What was read. Where nothing of a stream is heard, it alone says that something waits for a person. */
export async function rereadTurn(
  parts: LinkParts,
  { turn, responseId, delayMs }: Of<'reread'>,
): Promise<UhpResponse | null> {
  const { holder, client, loop, random } = parts;
  const signal = await holder.beginReading(turn, delayMs);
  if (signal === null) return null;
  try {
    const response = await client.responses.get(responseId, { signal });
    if (signal.aborted) return null;
    loop.dispatch({ type: 'response_read', turn, response });
    return response;
  } catch (error) {
    if (signal.aborted) return null;
    if (error instanceof AuthenticationError) parts.onSignedOut();
    else if (mayPass(error) || statusOf(error) === 429)
      loop.dispatch({ type: 'read_failed', turn, random: random.fraction() });
    else refuse(parts, turn, error);
    return null;
  }
}

function pollAndWait(parts: LinkParts, turn: TurnId): void {
  parts.loop.dispatch({ type: 'poll_only', turn });
  void wantSlot(parts);
}

/** The page is seen, or has no stream: the turn gets one as soon as one is free. */
export async function wantSlot({ holder, loop }: LinkParts): Promise<void> {
  const turn = turnOf(loop.getState());
  if (turn?.link.kind === 'polling' && (await holder.wantSlot(turn.id)))
    loop.dispatch({ type: 'slot_won', turn: turn.id });
}

/** The page is not seen for long: another tab needs the slot more. */
export function giveSlotAway({ holder, loop }: LinkParts): void {
  const turn = turnOf(loop.getState());
  holder.stopWaiting();
  if (turn !== null && turn.transport === 'task' && holder.slot !== null)
    loop.dispatch({ type: 'poll_only', turn: turn.id });
}

interface Failed {
  readonly turn: TurnId;
  readonly error: unknown;
  readonly ifRefused: () => void;
}

function fail(parts: LinkParts, { turn, error, ifRefused }: Failed): void {
  if (error instanceof AuthenticationError) parts.onSignedOut();
  else if (mayPass(error)) lose(parts, turn, 'broken');
  // A fault of this page would only come again.
  else if (error instanceof UhpError) ifRefused();
  else refuse(parts, turn, error);
}

function lose({ loop, random }: LinkParts, turn: TurnId, why: 'broken' | 'unknown-cursor'): void {
  loop.dispatch({ type: 'stream_lost', turn, why, random: random.fraction() });
}

function refuse({ loop }: LinkParts, turn: TurnId, error: unknown): void {
  loop.dispatch({ type: 'refused', turn, status: statusOf(error), message: messageOf(error) });
}
