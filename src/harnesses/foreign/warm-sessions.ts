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

/** From the last word to a spoiled process to its end. */
const spoiledMs = 5_000;
const againMs = 10_000;

export class WarmSessions implements AsyncDisposable {
  readonly #limits: WarmLimits;
  readonly #o: { readonly clock: Clock; readonly logger: Logger; readonly pool: ProcessPool };
  readonly #entries = new Map<SessionId, Entry>();
  readonly #opening = new Map<SessionId, Promise<unknown>>();

  constructor(
    limits: WarmLimits,
    parts: { readonly clock: Clock; readonly logger: Logger; readonly pool: ProcessPool },
  ) {
    this.#limits = limits;
    this.#o = parts;
  }

  /**
   * The one of this session, if it is as it should be; else another in its place, as soon as there is room.
   * @throws NoRoomError
   * @throws RuntimeFault  The one before cannot be stopped.
   */
  async take(sessionId: SessionId, holder: Holder, options: TakeOptions): Promise<WarmProcess> {
    // One after the other: a turn that was given up may still be opening.
    while (this.#opening.has(sessionId)) await this.#opening.get(sessionId)?.catch(() => undefined);
    const taken = this.#take(sessionId, holder, options);
    this.#opening.set(sessionId, taken);
    try {
      return await taken;
    } finally {
      this.#opening.delete(sessionId);
    }
  }

  /** Nothing, where another has it (M1). */
  async release(sessionId: SessionId, holder: Holder): Promise<void> {
    await this.#opening.get(sessionId)?.catch(() => undefined);
    const entry = this.#entries.get(sessionId);
    if (entry?.state.at !== 'busy' || entry.state.holder !== holder) return;
    const { run, then } = entry.state;
    if (then === 'ended' || (then === 'kept-if-parked' && run === null)) return void (await this.discard(sessionId));
    const { idleSeconds, parkSeconds } = this.#limits;
    if (run === null) this.#enter(entry, { at: 'idle' }, idleSeconds * 1_000);
    else this.#enter(entry, { at: 'parked', run, then }, parkSeconds * 1_000);
  }

  /** Its run is to wait for a person once the holder lets go; null: it goes on. */
  park(sessionId: SessionId, run: ParkedRun | null): void {
    const entry = this.#entries.get(sessionId);
    if (entry?.state.at === 'busy') entry.state = { ...entry.state, run };
  }

  /** The turn of a run that waited, which is the holder's now; null: its process is not there any more. */
  resume(sessionId: SessionId, runId: RunId, holder: Holder): LiveTurn | null {
    const entry = this.#entries.get(sessionId);
    if (entry === undefined) return null;
    const { state } = entry;
    if (state.at === 'idle' || state.at === 'leaving' || state.then === 'ended') return null;
    const { run, then } = state;
    if (run?.runId !== runId) return null;
    this.#enter(entry, { at: 'busy', holder, run, then });
    return run.live;
  }

  has(sessionId: SessionId): boolean {
    return (this.#entries.get(sessionId)?.state.at ?? 'leaving') !== 'leaving';
  }

  /** Ends what the session has, is opening or is ending. Gives what could not be stopped; does not reject. */
  async discard(sessionId: SessionId): Promise<readonly string[]> {
    await this.#opening.get(sessionId)?.catch(() => undefined);
    const entry = this.#entries.get(sessionId);
    if (entry === undefined) return [];
    const stopped = await this.#end(entry).catch(() => null);
    return stopped?.unstopped ?? ['The agent did not confirm that it stopped.'];
  }

  /** @throws RuntimeFault  Something could not be stopped. */
  async [Symbol.asyncDispose](): Promise<void> {
    const all = new Set([...this.#entries.keys(), ...this.#opening.keys()]);
    const left = (await Promise.all([...all].map((each) => this.discard(each)))).flat();
    for (const entry of this.#entries.values()) entry.cancelTimer();
    if (left.length > 0) throw new RuntimeFault(harnessError(`Could not be stopped: ${left.join(', ')}.`));
  }

  async #take(
    sessionId: SessionId,
    holder: Holder,
    { fingerprint, isLast, open, ...request }: TakeOptions,
  ): Promise<WarmProcess> {
    const busy = { at: 'busy', holder, run: null, then: isLast ? 'kept-if-parked' : 'kept' } as const;
    const known = this.#entries.get(sessionId);
    if (known?.fingerprint === fingerprint && isFree(known)) {
      this.#enter(known, busy);
      return known;
    }
    if (known !== undefined)
      await this.#end(known).catch((cause: unknown) => {
        throw new RuntimeFault(harnessError('The last process of the session could not be stopped.'), { cause });
      });
    // Of one that is opened, which it is when somebody may want its place.
    let made: Entry | null = null;
    const place = await this.#o.pool.take({ ...request, end: () => void (made !== null && this.#dismiss(made)) });
    const { session, ...opened } = await open().catch((cause: unknown) => {
      place[Symbol.dispose]();
      throw cause;
    });
    const entry: Entry = {
      ...opened,
      session: { ...session, stop: () => this.#end(entry) },
      stop: () => session.stop(),
      sessionId,
      fingerprint,
      place,
      state: busy,
      cancelTimer() {},
    };
    made = entry;
    this.#entries.set(sessionId, entry);
    void session.gone.then(() => this.#giveUp(entry));
    void opened.spoiled.then(() => this.#giveUp(entry, spoiledMs));
    return entry;
  }

  /** @param endInMs  Unless another state is entered before. Absent: it stays. */
  #enter(entry: Entry, state: State, endInMs?: number): void {
    entry.cancelTimer();
    entry.state = state;
    entry.cancelTimer =
      endInMs === undefined ? () => undefined : this.#o.clock.timer(endInMs, () => this.#dismiss(entry));
    // Last: a pool that has no use for it says so at once.
    entry.place.use(state.at);
  }

  /** From here on nobody is given it, whoever stops it and however long that takes. */
  #end(entry: Entry): Promise<StoppedTree> {
    if (entry.state.at === 'leaving' && entry.state.stopped !== null) return entry.state.stopped;
    const { sessionId } = entry;
    const stopped = entry.stop().then(
      (tree) => {
        if (this.#entries.get(sessionId) === entry) this.#entries.delete(sessionId);
        entry.place[Symbol.dispose]();
        return tree;
      },
      (cause: unknown) => {
        this.#o.logger.warn('A runtime did not stop.', { sessionId, cause: String(cause) });
        this.#enter(entry, { at: 'leaving', stopped: null }, againMs);
        throw cause;
      },
    );
    this.#enter(entry, { at: 'leaving', stopped });
    return stopped;
  }

  /** For whom nobody waits: what goes wrong is logged already. */
  #dismiss(entry: Entry): void {
    this.#end(entry).catch(() => undefined);
  }

  /** M3. */
  #giveUp(entry: Entry, endInMs?: number): void {
    const { state } = entry;
    if (state.at === 'busy') this.#enter(entry, { ...state, then: 'ended' }, endInMs);
    else this.#dismiss(entry);
  }
}

/** For another turn. */
function isFree({ state }: Entry): boolean {
  return state.at === 'idle' || (state.at === 'busy' && state.run === null && state.then !== 'ended');
}
