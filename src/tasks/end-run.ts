import { createRunRecorder, finalStatus } from './run-recorder.ts';
import { foldLog } from './fold-log.ts';
import { nextLeg } from './next-leg.ts';
import type { Ending } from '../core/closing.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/** Ends a run that no harness works on, by the closing rule and nothing else. */
export async function endRun(services: Services, run: RunRecord, ending: Ending): Promise<void> {
  const folded = await foldLog(services, run);
  const { state } = folded;
  if (state.result !== null && finalStatus(state.result.status) !== null) return;
  const recorder = createRunRecorder(services, run, { ...folded, leg: state.leg + 1 });
  try {
    await recorder.write([nextLeg(state)]);
    await recorder.end(state.result === null ? ending : { ...ending, wasParked: true });
  } finally {
    recorder.close();
  }
}
