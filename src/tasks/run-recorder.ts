// The write side of one run for its host: what the harness yields goes into the log; what the log has stored is folded, once,
// into response and frames; and the run ends once.
//
// R1. Response and frames are the fold of the very events that the log holds (UD-20): they are folded when they are stored.
//     Only the ending is folded before, as its response is stored with it, and its frames are given out after (UD-21).
//     Each event is folded once, whoever wrote it, and whenever it is met here.
// R2. A group is written to its `run-result` and not beyond; nothing is written after it.
// R3. An ending that somebody's word overtook was not stored: what was folded of it is forgotten, and the run goes on (E-661).
// R4. A log that is damaged is ended where it ends, by what of it can be read (E-804).

import { AdapterProtocolError } from '../core/errors.ts';
import { closeRun, type Ending } from '../core/closing.ts';
import { foldLog, type FoldedLog } from './fold-log.ts';
import { isJsonObject, toJsonValue } from '../core/json.ts';
import { isLive, type EventDraft, type RunEvent } from '../core/run-event.ts';
import { chargeOf } from './principal-limits.ts';
import { leaveFolder, parkFolder } from './settle-folder.ts';
import { withFileChanges } from './check-files.ts';
import type { FinalStatus, RunStatus } from '../core/outcome.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

export interface Recorded {
  /** How the leg stands: `over` once its `run-result` is stored, whether it ends the run or parks it. */
  readonly leg: 'open' | 'over';
  /** Committed events that entered the log since the last group that held one: facts from outside, then its own. */
  readonly taken: readonly RunEvent[];
}

export interface RunRecorder {
  /**
   * Writes one group. Undefined: nothing to wait for. Else resolves when it is durable.
   * @throws AdapterProtocolError  The group holds what only a host may write, or an ending that is none.
   */
  write(drafts: readonly EventDraft[]): Promise<Recorded> | undefined;
  /** Ends the run from the fold of what is stored, if it has not ended: its harness did not. */
  end(ending: Ending): Promise<void>;
  close(): void;
}

/** @param folded  The log so far; the recorder goes on with its fold. @param leg  That of the events to come. */
export function createRunRecorder(
  services: Services,
  run: RunRecord,
  { leg, ...folded }: FoldedLog & { readonly leg: number },
): RunRecorder {
  const source = { ...run, reinsEvents: folded.state.task?.reinsEvents ?? false };
  let live = services.frames.open(source);
  let { frames, lastSeq } = folded;
  /** What is stored while the fold is ahead of the log, or is made anew; null: it is folded at once. */
  let waiting: RunEvent[] | null = null;
  /** What is being written as the ending: it takes as long as the look at the files does. */
  let ending: Promise<unknown> = Promise.resolve();
  const endSeq = folded.damage === null ? lastSeq : run.lastSeq;
  const writer = services.log.writer({ ...run, lastSeq: endSeq, leg }, onStored);

  function onStored(stored: readonly RunEvent[]): void {
    if (waiting !== null) return void waiting.push(...stored);
    const events = (stored[0]?.seq ?? 0) > lastSeq ? stored : stored.filter(({ seq }) => seq > lastSeq);
    lastSeq = events.at(-1)?.seq ?? lastSeq;
    frames.encode = live.wanted;
    live.push(frames.push(events));
  }

  /** The fold of what is stored, from the start. What readers were not given of it they take from the log. */
  async function foldAgain(): Promise<FoldedLog> {
    waiting ??= [];
    const again = await foldLog(services, run);
    if (again.lastSeq > lastSeq) {
      live.close();
      live = services.frames.open(source);
    }
    ({ frames, lastSeq } = again);
    const met = waiting;
    waiting = null;
    onStored(met);
    return again;
  }

  async function writeResult(facts: readonly EventDraft[], status: RunStatus): Promise<Recorded> {
    await writer.flush();
    const final = finalStatus(status);
    if (final === null) {
      await parkFolder(services, run);
      const parked = await writer.park(facts);
      return { leg: parked.outcome === 'ended' ? 'over' : 'open', taken: parked.events };
    }
    const written = writeEnding(facts, final);
    ending = written.catch(() => {});
    return written;
  }

  /** Everything before the ending is stored and folded; the ending is folded, stored, and then shown. */
  async function writeEnding(closing: readonly EventDraft[], status: FinalStatus): Promise<Recorded> {
    const facts = await withFileChanges(services, run, closing);
    waiting = [];
    frames.encode = live.wanted;
    const shown = frames.push(facts);
    // Of a log whose very beginning is damaged nothing can be shown.
    const response = frames.sequence === 0 ? null : toJsonValue(frames.response());
    const atMs = services.clock.now();
    const end = { status, response: isJsonObject(response) ? response : null, atMs, ...chargeOf(facts) };
    const result = await writer.end(facts, end);
    if (result.outcome === 'ended') {
      // Who hears of the end may go on at once.
      await leaveFolder(services, run);
      live.push(shown);
      return { leg: 'over', taken: result.events };
    }
    await foldAgain(); // (R3)
    return { leg: 'open', taken: result.events };
  }

  async function writeLast(drafts: readonly EventDraft[], at: number): Promise<Recorded> {
    const kept = drafts.slice(0, at + 1);
    const firstFact = kept.findIndex(({ type }) => !isLive(type));
    if (firstFact > 0) await writer.write(kept.slice(0, firstFact));
    const last = kept.at(-1);
    if (last?.type !== 'run-result') throw new AdapterProtocolError('The harness gave a result that ends nothing.');
    if (last.data.status === 'running') throw new AdapterProtocolError('The harness gave a result that ends nothing.');
    return writeResult(kept.slice(firstFact), last.data.status);
  }

  return {
    write(drafts) {
      const at = drafts.findIndex(({ type }) => type === 'run-result');
      if (at !== -1) return writeLast(drafts, at);
      return writer.write(drafts)?.then((taken) => ({ leg: 'open', taken }));
    },
    async end(how) {
      await ending; // its own may be nearly there
      for (let over = false; !over;) {
        await writer.flush();
        const { state } = await foldAgain();
        if (state.result !== null && finalStatus(state.result.status) !== null) return;
        over = (await writeEnding(closeRun(state, how, services.clock.now()), how.status)).leg === 'over';
      }
    },
    close() {
      writer.close();
      live.close();
    },
  };
}

/** Null for a result that parks its run. */
export function finalStatus(status: RunStatus): FinalStatus | null {
  return status === 'cancelled' || status === 'completed' || status === 'failed' ? status : null;
}
