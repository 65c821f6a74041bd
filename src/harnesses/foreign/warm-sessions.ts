// Processes of runtimes, at turns and between them (H-074): each has a place among all of the server, and between turns a
// bounded time.
//
// M1. A process is its holder's: the turn that took it last. Whoever held it before lets go of nothing any more.
// M2. A place is held from before the start of a process to after its end.

import type { Clock } from '../../core/clock.ts';
import type { LiveTurn } from './live-turn.ts';
import type { Logger } from '../../core/logger.ts';
import type { Place, PlaceRequest, ProcessPool } from './process-pool.ts';
import type { StoppedTree } from '../../process/stop-tree.ts';
import type { RunId, SessionId } from '../../core/ids.ts';
import type { RuntimeExtras } from './foreign-parts.ts';

export interface WarmLimits {
  readonly idleSeconds: number;
  /** How long a run that waits for a person keeps its process (H-042). */
  readonly parkSeconds: number;
}

export interface TakeOptions extends Omit<PlaceRequest, 'letGo'> {
  /** What it has to be, to be used again. */
  readonly fingerprint: string;
  /** Nobody will take it after this holder. */
  readonly isLast: boolean;
  readonly open: () => Promise<Warm>;
}

/** One that takes a process, and lets go of it. */
export type Holder = object;

export interface Warm {
  readonly session: LiveTurn['session'] & {
    /** Prompts that it got from this server. */
    turns: number;
  };
  readonly extras: RuntimeExtras;
}

export interface ParkedRun {
  readonly runId: RunId;
  readonly live: LiveTurn;
}

interface Entry extends Warm {
  /** Of the process itself. */
  stop(): Promise<StoppedTree>;
  readonly fingerprint: string;
  readonly place: Place;
  /** Null between turns. */
  holder: Holder | null;
  isLast: boolean;
  parked: ParkedRun | null;
  gone: boolean;
  leaving: Promise<StoppedTree> | null;
  cancelTimer: () => void;
}

export interface WarmSessions extends AsyncDisposable {
  /**
   * The one of this session, if it is as it should be; else another in its place, as soon as there is room.
   * @throws NoRoomError
   */
  take(sessionId: SessionId, holder: Holder, options: TakeOptions): Promise<Warm>;
  release(sessionId: SessionId, holder: Holder): Promise<void>;
  park(sessionId: SessionId, run: ParkedRun): void;
  unpark(sessionId: SessionId): void;
  /** The turn of a run that waited, where its process is still there: it is the holder's now. */
  parked(sessionId: SessionId, runId: RunId, holder: Holder): LiveTurn | null;
  has(sessionId: SessionId): boolean;
  /** It did not work. */
  discard(sessionId: SessionId): Promise<StoppedTree | null>;
  forget(sessionId: SessionId): Promise<void>;
}

export function createWarmSessions(
  limits: WarmLimits,
  { clock, logger, pool }: { readonly clock: Clock; readonly logger: Logger; readonly pool: ProcessPool },
): WarmSessions {
  const entries = new Map<SessionId, Entry>();
  const stopping = new Map<SessionId, Promise<unknown>>();
  const opening = new Map<SessionId, Promise<unknown>>();

  /** From here on nobody is given it, whoever stops it and however long that takes. */
  function letGo(sessionId: SessionId, entry: Entry): Promise<StoppedTree> {
    if (entry.leaving !== null) return entry.leaving;
    if (entries.get(sessionId) === entry) entries.delete(sessionId);
    entry.cancelTimer();
    const stopped = entry.stop();
    entry.leaving = stopped;
    entry.place.use('leaving');
    const settled = stopped
      .catch((cause: unknown) => {
        entry.leaving = null; // whoever asks again has another try
        logger.warn('A runtime did not stop.', { cause: String(cause) });
      })
      .finally(() => {
        entry.place[Symbol.dispose]();
        if (stopping.get(sessionId) === settled) stopping.delete(sessionId);
      });
    stopping.set(sessionId, settled);
    return stopped;
  }

  /** Of an entry whose end nobody waits for: what goes wrong is logged already. */
  function dismiss(sessionId: SessionId, entry: Entry): void {
    letGo(sessionId, entry).catch(() => undefined);
  }

  async function stop(sessionId: SessionId): Promise<StoppedTree | null> {
    await opening.get(sessionId)?.catch(() => undefined);
    const entry = entries.get(sessionId);
    if (entry === undefined) {
      await stopping.get(sessionId);
      return null;
    }
    return letGo(sessionId, entry).catch(() => null);
  }

  async function takeOne(
    sessionId: SessionId,
    holder: Holder,
    { fingerprint, isLast, open, ...request }: TakeOptions,
  ): Promise<Warm> {
    const known = entries.get(sessionId);
    if (known !== undefined && known.fingerprint === fingerprint && !known.gone && known.parked === null) {
      known.isLast = isLast;
      hold(known, holder);
      return known;
    }
    if (known !== undefined) await letGo(sessionId, known).catch(() => undefined);
    await stopping.get(sessionId);
    // Of one that is opened, which it is when somebody may want its place.
    let made: Entry | null = null;
    const place = await pool.take({ ...request, letGo: () => void (made !== null && dismiss(sessionId, made)) });
    const { session, extras } = await open().catch((cause: unknown) => {
      place[Symbol.dispose]();
      throw cause;
    });
    const entry: Entry = {
      extras,
      session: { ...session, stop: () => letGo(sessionId, entry) },
      stop: () => session.stop(),
      fingerprint,
      place,
      holder,
      isLast,
      parked: null,
      gone: false,
      leaving: null,
      cancelTimer() {},
    };
    made = entry;
    entries.set(sessionId, entry);
    void session.gone.then(() => {
      entry.gone = true;
      // Its lease goes with it.
      if (entry.holder === null) dismiss(sessionId, entry);
    });
    return entry;
  }

  function hold(entry: Entry, holder: Holder): void {
    entry.cancelTimer();
    entry.holder = holder;
    entry.place.use('busy');
  }

  return {
    async take(sessionId, holder, options) {
      // One after the other: a turn that was given up may still be opening.
      while (opening.has(sessionId)) await opening.get(sessionId)?.catch(() => undefined);
      const taken = takeOne(sessionId, holder, options);
      opening.set(sessionId, taken);
      try {
        return await taken;
      } finally {
        opening.delete(sessionId);
      }
    },
    async release(sessionId, holder) {
      await opening.get(sessionId)?.catch(() => undefined);
      const entry = entries.get(sessionId);
      if (entry === undefined || entry.holder !== holder) return;
      entry.holder = null;
      const isKept = entry.parked !== null;
      if (entry.gone || (entry.isLast && !isKept)) return void (await letGo(sessionId, entry).catch(() => undefined));
      entry.cancelTimer();
      const seconds = isKept ? limits.parkSeconds : limits.idleSeconds;
      entry.cancelTimer = clock.timer(seconds * 1_000, () => dismiss(sessionId, entry));
      entry.place.use(isKept ? 'parked' : 'idle');
    },
    park(sessionId, run) {
      const entry = entries.get(sessionId);
      if (entry !== undefined) entry.parked = run;
    },
    unpark(sessionId) {
      const entry = entries.get(sessionId);
      if (entry !== undefined) entry.parked = null;
    },
    parked(sessionId, runId, holder) {
      const entry = entries.get(sessionId);
      if (entry?.parked?.runId !== runId || entry.gone) return null;
      hold(entry, holder);
      return entry.parked.live;
    },
    has: (sessionId) => entries.has(sessionId),
    discard: stop,
    async forget(sessionId) {
      await stop(sessionId);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...entries.keys()].map(stop));
      await Promise.all(stopping.values());
    },
  };
}
