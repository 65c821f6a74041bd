// The write side of one run for its host: what the harness yields goes into the log; what the log has stored is folded, once,
// into response and frames; and the run ends once.
//
// R1. Response and frames are the fold of the very events that the log holds (UD-20): they are folded when they are stored.
//     Only the ending is folded before, as its response is stored with it, and its frames are given out after (UD-21).
// R2. A group is written to its `run-result` and not beyond; nothing is written after it.

import { AdapterProtocolError } from '../core/errors.ts';
import { closeRun, type Ending } from '../core/closing.ts';
import { foldLog, type FoldedLog } from './fold-log.ts';
import { isJsonObject, toJsonValue } from '../core/json.ts';
import { isLive, type EventDraft, type RunEvent } from '../core/run-event.ts';
import type { FinalStatus, RunStatus } from '../core/outcome.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

export interface RunRecorder {
  /**
   * Writes one group. Undefined: nothing to wait for. Else resolves when it is durable, to whether the run has ended.
   * @throws AdapterProtocolError  The group holds what only a host may write, or an ending that is none.
   */
  write(drafts: readonly EventDraft[]): Promise<boolean> | undefined;
  /** Ends the run from the fold of what is stored, if it has not ended: its harness did not. */
  end(ending: Ending): Promise<void>;
  close(): void;
}

/** @param folded  The log so far; the recorder goes on with its fold. @param leg  That of the events to come. */
export function createRunRecorder(
  services: Services,
  run: RunRecord,
  { state, frames: folded, leg }: FoldedLog & { readonly leg: number },
): RunRecorder {
  const live = services.frames.open({ ...run, reinsEvents: state.task?.reinsEvents ?? false });
  let frames = folded;
  let ending = false;
  const writer = services.log.writer({ ...run, leg }, onStored);

  function onStored(events: readonly RunEvent[]): void {
    if (ending) return;
    frames.encode = live.wanted;
    live.push(frames.push(events));
  }

  /** Everything before the ending is stored and folded; the ending is folded, stored, and then shown. */
  async function writeEnding(facts: readonly EventDraft[], atMs: number): Promise<void> {
    await writer.flush();
    const last = facts.at(-1);
    const status = last?.type === 'run-result' ? finalStatus(last.data.status) : null;
    if (status === null) throw new AdapterProtocolError('The harness gave a result that ends nothing.');
    ending = true;
    frames.encode = live.wanted;
    const shown = frames.push(facts);
    const response = toJsonValue(frames.response());
    await writer.end(facts, { status, response: isJsonObject(response) ? response : null, atMs });
    live.push(shown);
  }

  async function writeLast(drafts: readonly EventDraft[], at: number): Promise<true> {
    const kept = drafts.slice(0, at + 1);
    const firstFact = kept.findIndex(({ type }) => !isLive(type));
    if (firstFact > 0) await writer.write(kept.slice(0, firstFact));
    await writeEnding(kept.slice(firstFact), services.clock.now());
    return true;
  }

  return {
    write(drafts) {
      const at = drafts.findIndex(({ type }) => type === 'run-result');
      return at === -1 ? writer.write(drafts)?.then(() => false) : writeLast(drafts, at);
    },
    async end(how) {
      await writer.flush();
      const stored = await foldLog(services, run);
      if (stored.state.result !== null) return;
      frames = stored.frames;
      await writeEnding(closeRun(stored.state, how, services.clock.now()), services.clock.now());
    },
    close() {
      writer.close();
      live.close();
    },
  };
}

function finalStatus(status: RunStatus): FinalStatus | null {
  return status === 'cancelled' || status === 'completed' || status === 'failed' ? status : null;
}
