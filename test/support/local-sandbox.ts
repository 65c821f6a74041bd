import { localSandbox } from '../../src/harnesses/harness-v1/local-sandbox.ts';
import { systemClock, systemRandom } from '../../src/system.ts';

/** This machine, as hosts of adapters want it. */
export function sandboxIn(folder: string) {
  const place = { clock: systemClock, random: systemRandom, home: folder, temporary: folder, workspace: folder };
  return localSandbox({ ...place, marker: systemRandom.token() }, process.env);
}
