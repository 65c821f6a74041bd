// Processes of runtimes between turns (H-074): a bounded number of them, each for a bounded time.

import type { Clock } from '../../core/clock.ts';
import type { LiveTurn } from './drive-turn.ts';
import type { Logger } from '../../core/logger.ts';
import type { StoppedTree } from '../../process/stop-tree.ts';
import type { RunId, SessionId } from '../../core/ids.ts';
import type { RuntimeExtras } from './foreign-adapter.ts';

export interface WarmLimits {
  readonly idleSeconds: number;
  /** How long a run that waits for a person keeps its process (H-042). */
  readonly parkSeconds: number;
  /** Idle ones at most; the oldest goes first. */
  readonly most: number;
}

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
  busy: boolean;
  parked: ParkedRun | null;
  gone: boolean;
  cancelTimer: () => void;
}

export interface WarmSessions extends AsyncDisposable {
  /** The one of this session, if it is as it should be; else another in its place. */
  take(sessionId: SessionId, fingerprint: string, open: () => Promise<Warm>): Promise<Warm>;
  release(sessionId: SessionId): Promise<void>;
  park(sessionId: SessionId, run: ParkedRun): void;
  unpark(sessionId: SessionId): void;
  /** The turn of a run that waited, where its process is still there. */
  parked(sessionId: SessionId, runId: RunId): LiveTurn | null;
  /** It did not work. */
  discard(sessionId: SessionId): Promise<StoppedTree | null>;
  forget(sessionId: SessionId): Promise<void>;
}

export function createWarmSessions(
  limits: WarmLimits,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): WarmSessions {
  /** In the order in which they were used. */
  const entries = new Map<SessionId, Entry>();
  const stopping = new Map<SessionId, Promise<unknown>>();
  const opening = new Map<SessionId, Promise<unknown>>();

  /** From here on nobody is given it, whoever stops it and however long that takes. */
  function letGo(sessionId: SessionId, entry: Entry): Promise<StoppedTree> {
    if (entries.get(sessionId) === entry) entries.delete(sessionId);
    entry.cancelTimer();
    const stopped = entry.stop();
    const settled = stopped
      .catch((cause: unknown) => logger.warn('A runtime did not stop.', { cause: String(cause) }))
      .finally(() => stopping.get(sessionId) === settled && stopping.delete(sessionId));
    stopping.set(sessionId, settled);
    return stopped;
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

  async function takeOne(sessionId: SessionId, fingerprint: string, open: () => Promise<Warm>): Promise<Warm> {
    const known = entries.get(sessionId);
    if (known !== undefined && known.fingerprint === fingerprint && !known.gone && known.parked === null) {
      known.cancelTimer();
      known.busy = true;
      entries.delete(sessionId);
      entries.set(sessionId, known);
      return known;
    }
    if (known !== undefined) await letGo(sessionId, known).catch(() => undefined);
    await stopping.get(sessionId);
    const { session, extras } = await open();
    const entry: Entry = {
      extras,
      session: { ...session, stop: () => letGo(sessionId, entry) },
      stop: () => session.stop(),
      fingerprint,
      busy: true,
      parked: null,
      gone: false,
      cancelTimer() {},
    };
    entries.set(sessionId, entry);
    void session.gone.then(() => {
      entry.gone = true;
      // Its lease goes with it.
      if (!entry.busy && entries.get(sessionId) === entry) letGo(sessionId, entry).catch(() => undefined);
    });
    return entry;
  }

  function letGoOfOldest(): void {
    const idle = [...entries].filter(([, { busy, parked }]) => !busy && parked === null);
    for (const [sessionId] of idle.slice(0, Math.max(0, idle.length - limits.most))) void stop(sessionId);
  }

  return {
    async take(sessionId, fingerprint, open) {
      // One after the other: a turn that was given up may still be opening.
      while (opening.has(sessionId)) await opening.get(sessionId)?.catch(() => undefined);
      const taken = takeOne(sessionId, fingerprint, open);
      opening.set(sessionId, taken);
      try {
        return await taken;
      } finally {
        opening.delete(sessionId);
      }
    },
    async release(sessionId) {
      const entry = entries.get(sessionId);
      if (entry === undefined) return;
      entry.busy = false;
      if (entry.gone) return void (await stop(sessionId));
      const seconds = entry.parked === null ? limits.idleSeconds : limits.parkSeconds;
      entry.cancelTimer();
      entry.cancelTimer = clock.timer(seconds * 1_000, () => void stop(sessionId));
      letGoOfOldest();
    },
    park(sessionId, run) {
      const entry = entries.get(sessionId);
      if (entry !== undefined) entry.parked = run;
    },
    unpark(sessionId) {
      const entry = entries.get(sessionId);
      if (entry !== undefined) entry.parked = null;
    },
    parked(sessionId, runId) {
      const entry = entries.get(sessionId);
      if (entry?.parked?.runId !== runId || entry.gone) return null;
      entry.cancelTimer();
      entry.busy = true;
      return entry.parked.live;
    },
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
