import { ConfigurationError } from '../core/errors.ts';
import { createHash } from 'node:crypto';
import { harnessIds, type HarnessId } from '../core/ids.ts';
import { plainSetup, type HarnessRecord } from '../stores/harness-record.ts';
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

/**
 * The principal's harnesses: one of each base that can work here, and of the preferred one in any case: a task that means it is
 * refused with the reason, and not given to another.
 * @param alone  Does it while no other process does the like. Programs are asked before that: one that hangs holds up no
 *   other server.
 */
export async function ensureHarnesses(
  services: Pick<Services, 'store' | 'clock' | 'random' | 'harnesses'>,
  principal: string,
  alone: (work: () => Promise<void>) => Promise<void> = (work) => work(),
): Promise<void> {
  const { harnesses } = services;
  const [preferred] = harnesses.bases;
  const looks = harnesses.bases.map(async (base) => ({ base, status: await harnesses.adapter(base)?.probe() }));
  const seen = await Promise.all(looks);
  const wanted = seen.filter(({ base, status }) => status?.installed !== false || base === preferred);
  await alone(async () => {
    for (const { base } of wanted) await ensureHarness(services, principal, base);
  });
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
