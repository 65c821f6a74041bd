import { toUhpHarness, type UhpHarness } from '../../protocol/uhp/harness.ts';
import type { HarnessView } from '../../tasks/read-harnesses.ts';

export function harnessAnswer({ record, plugins, label, capabilities }: HarnessView): UhpHarness {
  const base = { label, ...(capabilities === undefined ? {} : { capabilities: { ...capabilities } }) };
  return toUhpHarness(record, base, plugins);
}
