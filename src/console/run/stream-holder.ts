// The one stream of this tab, and the slot that it needs (C-040).
//
// H1. Whoever begins a stream closes the one before it; the slot stays with the tab in between.
// H2. Letting go closes the stream, gives the slot back and drops all that was planned.
// H3. A slot is waited for only while the page is seen. What was won too late is given back.

import { pause } from '../../client/settle-within.ts';
import type { Platform } from './platform.ts';
import type { Slot, StreamSlots } from './stream-slots.ts';
import type { TurnId } from '../state/row.ts';

export interface StreamHolder {
  /** Null: there is none, for what the stream is begun for has to do without. */
  readonly slot: Slot | null;
  /** @returns  Null: it was let go of, or another one has begun. */
  begin(turn: TurnId, delayMs: number, slotFrom: keyof StreamSlots): Promise<AbortSignal | null>;
  /** The same for a reading of the response, beside the stream; a new one replaces the one before it. */
  beginReading(turn: TurnId, delayMs: number): Promise<AbortSignal | null>;
  /** A byte has come. */
  readonly touch: () => void;
  /** Since the last byte; 0 where there is no stream. */
  readonly silentMs: () => number;
  /** @returns  Whether a slot was won for this turn. */
  wantSlot(turn: TurnId): Promise<boolean>;
  stopWaiting(): void;
  letGo(turn: TurnId): void;
  readonly close: () => void;
}

export function createStreamHolder(
  { clock, isVisible }: Pick<Platform, 'clock' | 'isVisible'>,
  slots: StreamSlots,
): StreamHolder {
  let slot: Slot | null = null;
  let lastByteMs: number | null = null;
  let holder: TurnId | null = null;
  let [stream, reading, waiting] = [new AbortController(), new AbortController(), new AbortController()];

  const close = () => {
    for (const each of [stream, reading, waiting]) each.abort();
    slot?.release();
    [slot, lastByteMs, holder] = [null, null, null];
  };
  const wait = async (delayMs: number, { signal }: AbortController) => {
    if (delayMs > 0) await pause(clock, delayMs, signal);
    return signal.aborted ? null : signal;
  };
  return {
    get slot() {
      return slot;
    },
    async begin(turn, delayMs, slotFrom) {
      for (const each of [stream, waiting]) each.abort();
      holder = turn;
      const signal = await wait(delayMs, (stream = new AbortController()));
      if (signal === null) return null;
      if (slot === null) {
        const taken = await slots[slotFrom](signal);
        if (signal.aborted) {
          taken?.release();
          return null;
        }
        slot = taken;
      }
      lastByteMs = clock.now();
      return signal;
    },
    beginReading(turn, delayMs) {
      reading.abort();
      holder = turn;
      return wait(delayMs, (reading = new AbortController()));
    },
    touch: () => void (lastByteMs = clock.now()),
    silentMs: () => (lastByteMs === null ? 0 : clock.now() - lastByteMs),
    async wantSlot(turn) {
      if (!isVisible()) return false;
      waiting.abort();
      holder = turn;
      const { signal } = (waiting = new AbortController());
      const won = await slots.wait(signal);
      if (signal.aborted) {
        won?.release();
        return false;
      }
      slot = won;
      return won !== null;
    },
    stopWaiting: () => waiting.abort(),
    letGo: (turn) => {
      if (turn === holder) close();
    },
    close,
  };
}
