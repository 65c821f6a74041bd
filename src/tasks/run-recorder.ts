// The write side of one run for its host: what the harness yields goes into the log and into the fold of the response, and
// the run ends once.
//
// R1. The stored response is the fold of the very events that the log holds, stored with the last of them (UD-21). If the log
//     had to leave live events out, the fold is made again from the log.
// R2. A group is written to its `run-result` and not beyond; nothing is written after it.

import { AdapterProtocolError } from '../core/errors.ts';
import { closeRun, type Ending } from '../core/closing.ts';
import { foldLog, type FoldedLog } from './fold-log.ts';
import { isJsonObject, toJsonValue } from '../core/json.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { FinalStatus, RunStatus } from '../core/outcome.ts';
import type { JsonObject } from '../core/json.ts';
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

/** @param folded  The log so far; the recorder goes on with its view. @param leg  That of the events to come. */
export function createRunRecorder(
  services: Services,
  run: RunRecord,
  { view, leg }: Pick<FoldedLog, 'view'> & { readonly leg: number },
): RunRecorder {
  const writer = services.log.writer({ ...run, leg });

  async function responseAfter(last: readonly EventDraft[]): Promise<JsonObject | null> {
    let whole = view;
    if (writer.incomplete) {
      await writer.flush();
      whole = (await foldLog(services, run)).view;
    }
    for (const draft of last) whole.push(draft);
    const response = toJsonValue(whole.response());
    return isJsonObject(response) ? response : null;
  }

  async function writeEnd(drafts: readonly EventDraft[], at: number): Promise<true> {
    const kept = drafts.slice(0, at + 1);
    const last = kept[at];
    const status = last?.type === 'run-result' ? finalStatus(last.data.status) : null;
    if (last?.type !== 'run-result' || status === null)
      throw new AdapterProtocolError('The harness gave a result that ends nothing.');
    const response = await responseAfter(kept);
    await writer.end(kept, { status, response, atMs: last.data.endedAtMs });
    return true;
  }

  return {
    write(drafts) {
      const at = drafts.findIndex(({ type }) => type === 'run-result');
      if (at !== -1) return writeEnd(drafts, at);
      for (const draft of drafts) view.push(draft);
      return writer.write(drafts)?.then(() => false);
    },
    async end(ending) {
      await writer.flush();
      const folded = await foldLog(services, run);
      if (folded.state.result !== null) return;
      const drafts = closeRun(folded.state, ending, services.clock.now());
      for (const draft of drafts) folded.view.push(draft);
      const response = toJsonValue(folded.view.response());
      const status = ending.status;
      await writer.end(drafts, {
        status,
        response: isJsonObject(response) ? response : null,
        atMs: services.clock.now(),
      });
    },
    close: () => writer.close(),
  };
}

function finalStatus(status: RunStatus): FinalStatus | null {
  return status === 'cancelled' || status === 'completed' || status === 'failed' ? status : null;
}
