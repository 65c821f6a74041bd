// How the page hears of the turn at work (C-039, C-040). When to try again, and from where, is the reducer's to say.
//
// T1. There is one stream at most. Whatever opens one closes the one before it; the slot stays with the tab in between.
// T2. Without a slot the task is started without a stream, or not attached to; the tab waits for a slot while it is seen.
// T3. Letting go closes the connection, gives the slot back and drops what was planned. Nothing that comes after is told.
// T4. Refused for good ends the turn; whatever may pass by is a lost stream.

import { AuthenticationError, ConnectionError, PermissionError, RateLimitError, ServerError } from '../../client/index.ts';
import { ConflictError, InvalidRequestError, NotFoundError, QuotaError, TimeoutError, UhpError } from '../../client/index.ts';
import { fromAgent, fromAgentAnswer } from '../state/from-agent.ts';
import { fromUhp } from '../state/from-uhp.ts';
import { requestOf } from './request-of.ts';
import { turnOf } from '../state/state.ts';
import type { ActionLoop } from './action-loop.ts';
import type { Client, ParsedEvent, StreamSource } from '../../client/index.ts';
import type { Effect } from '../state/effect.ts';
import type { Platform } from './platform.ts';
import type { Slot, StreamSlots } from './stream-slots.ts';
import type { TurnId } from '../state/row.ts';

type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

export interface TurnLink {
  send(effect: Of<'send'>): Promise<void>;
  sendSimple(effect: Of<'sendSimple'>): Promise<void>;
  attach(effect: Of<'attach'>): Promise<void>;
  reread(effect: Of<'reread'>): Promise<void>;
  detach(effect: Of<'detach'>): void;
  /** Since the last byte of the stream; 0 where there is none. */
  silentMs(): number;
  /** The tab is seen again, or is not any more: whether it waits for a slot. */
  giveSlotAway(): void;
  wantSlot(): void;
  close(): void;
}

export interface LinkParts extends Pick<Platform, 'clock' | 'random' | 'isVisible'> {
  /** Tries each thing once. */
  readonly client: Client;
  readonly slots: StreamSlots;
  readonly loop: Pick<ActionLoop, 'getState' | 'dispatch'>;
  /** The browser is signed in no more. */
  readonly onSignedOut: () => void;
}

export function createTurnLink({ clock, random, isVisible, client, slots, loop, onSignedOut }: LinkParts): TurnLink {
  const { dispatch } = loop;
  let slot: Slot | null = null;
  let lastByteMs: number | null = null;
  let stream = new AbortController();
  let reading = new AbortController();
  let waiting = new AbortController();

  const letGo = () => {
    for (const each of [stream, reading, waiting]) each.abort();
    slot?.release();
    [slot, lastByteMs] = [null, null];
  };
  /** Null: it was let go of, or there is no slot. */
  const begin = async (delayMs: number, takeSlot: (signal: AbortSignal) => Promise<Slot | null>) => {
    stream.abort();
    waiting.abort();
    const own = (stream = new AbortController());
    await pause(clock, delayMs, own.signal);
    if (own.signal.aborted) return null;
    const taken = slot ?? (await takeSlot(own.signal));
    if (own.signal.aborted) {
      if (taken !== slot) taken?.release();
      return null;
    }
    slot = taken;
    lastByteMs = clock.now();
    return own.signal;
  };
  const ended = (turn: TurnId, error: unknown, ifRefused: () => void) => {
    if (error instanceof AuthenticationError) return onSignedOut();
    if (mayPass(error)) return lose(turn, 'broken');
    ifRefused();
  };
  const lose = (turn: TurnId, why: 'broken' | 'unknown-cursor') =>
    dispatch({ type: 'stream_lost', turn, why, random: random.fraction() });
  const refuse = (turn: TurnId, error: unknown) => {
    const status = error instanceof UhpError ? error.status : null;
    dispatch({ type: 'refused', turn, status, message: messageOf(error) });
  };

  /** @returns  Whether the server answered with a stream. */
  const follow = async (turn: TurnId, source: StreamSource, signal: AbortSignal) => {
    let responseId = 'responseId' in source ? source.responseId : null;
    let isOpen = false;
    const onOpen = () => {
      isOpen = true;
      if (responseId !== null) dispatch({ type: 'attached', turn });
    };
    const onBytes = () => (lastByteMs = clock.now());
    for await (const parsed of client.streamOnce(source, { signal, onOpen, onBytes })) {
      if (signal.aborted) break;
      responseId ??= nameIn(parsed);
      const { number, event } = parsed;
      if (responseId === null || number === null) continue;
      const events = event === null ? [] : fromUhp(event);
      dispatch({ type: 'received', turn, from: { kind: 'task', responseId, number }, events });
    }
    return isOpen;
  };

  const noSlot = (turn: TurnId) => {
    dispatch({ type: 'poll_only', turn });
    link.wantSlot();
  };

  const link: TurnLink = {
    async send(effect) {
      const { turn, delayMs } = effect;
      const signal = await begin(delayMs, () => slots.take());
      if (signal === null) return;
      const request = requestOf(effect);
      dispatch({ type: 'sent', turn });
      try {
        if (slot === null) {
          const response = await client.responses.create(request, { idempotencyKey: turn, signal });
          const events = fromUhp({ type: 'response.created', sequence_number: 0, response });
          if (signal.aborted) return;
          dispatch({ type: 'received', turn, from: { kind: 'task', responseId: response.id, number: 0 }, events });
          return noSlot(turn);
        }
        await follow(turn, { request, idempotencyKey: turn }, signal);
        if (!signal.aborted) lose(turn, 'broken');
      } catch (error) {
        if (!signal.aborted) ended(turn, error, () => refuse(turn, error));
      }
    },
    async sendSimple({ turn, prompt, model, cwd }) {
      const signal = await begin(0, (leaving) => slots.wait(leaving));
      if (signal === null) return;
      dispatch({ type: 'sent', turn });
      let isBegun = false;
      try {
        for await (const event of client.agent({ prompt, modelId: model, cwd }, { signal })) {
          isBegun = true;
          if (event.type === 'answer') dispatch({ type: 'answered', turn, events: fromAgentAnswer(event) });
          else dispatch({ type: 'received', turn, from: { kind: 'agent' }, events: fromAgent(event) });
          lastByteMs = clock.now();
        }
        if (!signal.aborted) lose(turn, 'broken');
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof AuthenticationError) onSignedOut();
        if (isBegun) lose(turn, 'broken');
        else refuse(turn, error);
      }
    },
    async attach({ turn, responseId, after, delayMs }) {
      const signal = await begin(delayMs, () => slots.take());
      if (signal === null) return;
      if (slot === null) return noSlot(turn);
      try {
        const isOpen = await follow(turn, { responseId, after, reinsEvents: true }, signal);
        if (!signal.aborted) lose(turn, isOpen ? 'broken' : 'unknown-cursor');
      } catch (error) {
        if (!signal.aborted) ended(turn, error, () => lose(turn, 'unknown-cursor'));
      }
    },
    async reread({ turn, responseId, delayMs }) {
      reading.abort();
      const { signal } = (reading = new AbortController());
      await pause(clock, delayMs, signal);
      if (signal.aborted) return;
      try {
        const response = await client.responses.get(responseId, { signal });
        if (!signal.aborted) dispatch({ type: 'response_read', turn, response });
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof AuthenticationError) onSignedOut();
        else if (mayPass(error)) dispatch({ type: 'read_failed', turn, random: random.fraction() });
        else refuse(turn, error);
      }
    },
    detach({ turn }) {
      const at = turnOf(loop.getState());
      // The next turn has begun before the last one was let go of.
      if (at === null || at.id === turn || at.request.kind === 'unsent') letGo();
    },
    silentMs: () => (lastByteMs === null ? 0 : clock.now() - lastByteMs),
    giveSlotAway() {
      const turn = turnOf(loop.getState());
      waiting.abort();
      if (turn !== null && turn.transport === 'task' && slot !== null) dispatch({ type: 'poll_only', turn: turn.id });
    },
    async wantSlot() {
      const turn = turnOf(loop.getState());
      if (turn?.link.kind !== 'polling' || !isVisible()) return;
      waiting.abort();
      const { signal } = (waiting = new AbortController());
      const won = await slots.wait(signal);
      if (won === null) return;
      if (signal.aborted) return won.release();
      slot = won;
      dispatch({ type: 'slot_won', turn: turn.id });
    },
    close: letGo,
  };
  return link;
}
