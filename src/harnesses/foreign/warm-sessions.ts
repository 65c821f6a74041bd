// Processes of runtimes, at turns and between them (H-074): each has a place among all of the server, and between turns a
// bounded time.
//
// M1. A process is its holder's: the turn that took it last. Whoever held it before lets go of nothing any more.
// M2. A place is held from before the start of a process to after its end. Where that fails it is tried again, by whoever
//     wants it gone and each ten seconds, and nothing else is opened for the session before.
// M3. What is gone or spoiled is given to no other turn, and goes with the one that holds it; what is spoiled, soon in any case.
//     That ends this process and never one that came after it.

import { harnessError } from './turn-endings.ts';
import { RuntimeFault } from './runtime.ts';
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

export interface TakeOptions extends Omit<PlaceRequest, 'end'> {
  /** What it has to be, to be used again. */
  readonly fingerprint: string;
  /** Nobody will take it after this holder. */
  readonly isLast: boolean;
  readonly open: () => Promise<WarmProcess>;
}

/** Whoever works with a process, told apart by identity alone. */
export type Holder = object;

export interface WarmProcess {
  readonly session: LiveTurn['session'] & {
    /** Prompts that it got from this server. */
    turns: number;
  };
  readonly extras: RuntimeExtras;
  /** Resolves when it may say its last word and is of no use after that. */
  readonly spoiled: Promise<void>;
}

export interface ParkedRun {
  readonly runId: RunId;
  readonly live: LiveTurn;
}

/** What becomes of it when its holder lets go. `kept-if-parked`: nobody will take it after that run. */
type Then = 'kept' | 'kept-if-parked' | 'ended';

type State =
  | { readonly at: 'busy'; readonly holder: Holder; readonly run: ParkedRun | null; readonly then: Then }
  | { readonly at: 'idle' }
  | { readonly at: 'parked'; readonly run: ParkedRun; readonly then: Then }
  /** Null: it could not be stopped, and will be tried again. */
  | { readonly at: 'leaving'; readonly stopped: Promise<StoppedTree> | null };

interface Entry extends WarmProcess {
  /** Of the process itself. */
  stop(): Promise<StoppedTree>;
  readonly sessionId: SessionId;
  readonly fingerprint: string;
  readonly place: Place;
  state: State;
  /** Of what its state leads to by itself. */
  cancelTimer: () => void;
}

export interface WarmSessions extends AsyncDisposable {
  /**
   * The one of this session, if it is as it should be; else another in its place, as soon as there is room.
   * @throws NoRoomError
   * @throws RuntimeFault  The one before cannot be stopped.
   */
  take(sessionId: SessionId, holder: Holder, options: TakeOptions): Promise<WarmProcess>;
  /** Nothing, where another has it (M1). */
  release(sessionId: SessionId, holder: Holder): Promise<void>;
  /** Its run is to wait for a person, once the holder lets go. */
  park(sessionId: SessionId, run: ParkedRun): void;
  /** Its run goes on. */
  unpark(sessionId: SessionId): void;
  /** The turn of a run that waited, which is the holder's now; null: its process is not there any more. */
  resume(sessionId: SessionId, runId: RunId, holder: Holder): LiveTurn | null;
  has(sessionId: SessionId): boolean;
  /** Ends what the session has, is opening or is ending. Gives what could not be stopped; does not reject. */
  discard(sessionId: SessionId): Promise<readonly string[]>;
}

/** From the last word to a spoiled process to its end. */
const spoiledMs = 5_000;
const againMs = 10_000;

export function createWarmSessions(
  limits: WarmLimits,
  { clock, logger, pool }: { readonly clock: Clock; readonly logger: Logger; readonly pool: ProcessPool },
): WarmSessions {
  const entries = new Map<SessionId, Entry>();
  const opening = new Map<SessionId, Promise<unknown>>();

  /** @param endInMs  Unless another state is entered before. Absent: it stays. */
  function enter(entry: Entry, state: State, endInMs?: number): void {
    entry.cancelTimer();
    entry.state = state;
    entry.cancelTimer = endInMs === undefined ? () => undefined : clock.timer(endInMs, () => dismiss(entry));
    // Last: a pool that has no use for it says so at once.
    entry.place.use(state.at);
  }

  /** From here on nobody is given it, whoever stops it and however long that takes. */
  function end(entry: Entry): Promise<StoppedTree> {
    if (entry.state.at === 'leaving' && entry.state.stopped !== null) return entry.state.stopped;
    const stopped = entry.stop().then(
      (tree) => {
        if (entries.get(entry.sessionId) === entry) entries.delete(entry.sessionId);
        entry.place[Symbol.dispose]();
        return tree;
      },
      (cause: unknown) => {
        logger.warn('A runtime did not stop.', { sessionId: entry.sessionId, cause: String(cause) });
        enter(entry, { at: 'leaving', stopped: null }, againMs);
        throw cause;
      },
    );
    enter(entry, { at: 'leaving', stopped });
    return stopped;
  }

  /** Of an entry whose end nobody waits for: what goes wrong is logged already. */
  function dismiss(entry: Entry): void {
    end(entry).catch(() => undefined);
  }

  /** M3. */
  function giveUp(entry: Entry, endInMs?: number): void {
    const { state } = entry;
    if (state.at === 'busy') enter(entry, { ...state, then: 'ended' }, endInMs);
    else dismiss(entry);
  }

  async function discard(sessionId: SessionId): Promise<readonly string[]> {
    await opening.get(sessionId)?.catch(() => undefined);
    const entry = entries.get(sessionId);
    if (entry === undefined) return [];
    const stopped = await end(entry).catch(() => null);
    return stopped?.unstopped ?? ['The agent did not confirm that it stopped.'];
  }

  async function takeOne(
    sessionId: SessionId,
    holder: Holder,
    { fingerprint, isLast, open, ...request }: TakeOptions,
  ): Promise<WarmProcess> {
    const busy = { at: 'busy', holder, run: null, then: isLast ? 'kept-if-parked' : 'kept' } as const;
    const known = entries.get(sessionId);
    if (known?.fingerprint === fingerprint && isFree(known)) {
      enter(known, busy);
      return known;
    }
    if (known !== undefined)
      await end(known).catch((cause: unknown) => {
        throw new RuntimeFault(harnessError('The last process of the session could not be stopped.'), { cause });
      });
    // Of one that is opened, which it is when somebody may want its place.
    let made: Entry | null = null;
    const place = await pool.take({ ...request, end: () => void (made !== null && dismiss(made)) });
    const { session, ...opened } = await open().catch((cause: unknown) => {
      place[Symbol.dispose]();
      throw cause;
    });
    const entry: Entry = {
      ...opened,
      session: { ...session, stop: () => end(entry) },
      stop: () => session.stop(),
      sessionId,
      fingerprint,
      place,
      state: busy,
      cancelTimer() {},
    };
    made = entry;
    entries.set(sessionId, entry);
    void session.gone.then(() => giveUp(entry));
    void opened.spoiled.then(() => giveUp(entry, spoiledMs));
    return entry;
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
      if (entry?.state.at !== 'busy' || entry.state.holder !== holder) return;
      const { run, then } = entry.state;
      if (then === 'ended' || (then === 'kept-if-parked' && run === null)) return void (await discard(sessionId));
      if (run === null) enter(entry, { at: 'idle' }, limits.idleSeconds * 1_000);
      else enter(entry, { at: 'parked', run, then }, limits.parkSeconds * 1_000);
    },
    park(sessionId, run) {
      const entry = entries.get(sessionId);
      if (entry?.state.at === 'busy') entry.state = { ...entry.state, run };
    },
    unpark(sessionId) {
      const entry = entries.get(sessionId);
      if (entry?.state.at === 'busy') entry.state = { ...entry.state, run: null };
    },
    resume(sessionId, runId, holder) {
      const entry = entries.get(sessionId);
      if (entry === undefined) return null;
      const { state } = entry;
      if (state.at === 'idle' || state.at === 'leaving' || state.then === 'ended') return null;
      const { run, then } = state;
      if (run?.runId !== runId) return null;
      enter(entry, { at: 'busy', holder, run, then });
      return run.live;
    },
    has: (sessionId) => (entries.get(sessionId)?.state.at ?? 'leaving') !== 'leaving',
    discard,
    async [Symbol.asyncDispose]() {
      const all = new Set([...entries.keys(), ...opening.keys()]);
      const left = (await Promise.all([...all].map(discard))).flat();
      for (const entry of entries.values()) entry.cancelTimer();
      if (left.length > 0) throw new RuntimeFault(harnessError(`Could not be stopped: ${left.join(', ')}.`));
    },
  };
}

/** For another turn. */
function isFree({ state }: Entry): boolean {
  return state.at === 'idle' || (state.at === 'busy' && state.run === null && state.then !== 'ended');
}
