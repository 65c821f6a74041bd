import { ConfigurationError } from '../core/errors.ts';
import { createHash } from 'node:crypto';
import { harnessIds, type HarnessId } from '../core/ids.ts';
import { plainSetup, type HarnessRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/**
 * The principal's harness of that base; made where there is none (UD-34). Of an agent that was put together in code many
 * may make it at once, in several processes: all make the same.
 * @throws ConfigurationError  There is no such base.
 */
export async function ensureHarness(
  { store, clock, random, harnesses }: Pick<Services, 'store' | 'clock' | 'random' | 'harnesses'>,
  principal: string,
  base: string,
): Promise<HarnessId> {
  const existing = (await store.harnesses(principal)).find((record) => record.base === base);
  if (existing !== undefined) return existing.harnessId;
  const adapter = harnesses.adapter(base);
  if (adapter === undefined)
    throw new ConfigurationError(`There is no harness '${base}'; there is: ${harnesses.bases.join(', ')}.`);
  const record: HarnessRecord = {
    ...plainHarness,
    harnessId: adapter.agent === undefined ? harnessIds.make(random.token()) : fixedId(principal, base),
    principal,
    name: adapter.label,
    base,
    createdAtMs: clock.now(),
  };
  await store.putHarness(record);
  return record.harnessId;
}

const plainHarness: Omit<HarnessRecord, 'harnessId' | 'principal' | 'name' | 'base' | 'createdAtMs'> = {
  defaultModel: null,
  systemPrompt: null,
  disabledTools: [],
  permissions: null,
  planning: null,
  setup: plainSetup,
  maxStep: null,
  timeoutSeconds: null,
  deleted: false,
};

function fixedId(principal: string, base: string): HarnessId {
  return harnessIds.make(createHash('sha256').update(`${principal}\n${base}`).digest('hex').slice(0, 32));
}
