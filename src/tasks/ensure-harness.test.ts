import { createRegistry } from '../harnesses/registry.ts';
import { ensureHarnesses } from './ensure-harness.ts';
import { expect, test } from 'vitest';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { systemClock, systemRandom } from '../system.ts';
import { turnHarness } from '../../test/support/turn-harness.ts';
import type { HarnessStatus } from '../harnesses/harness.ts';

test('H-010: programs are asked before a server works alone on its folder: one that hangs holds up no other server', async () => {
  await using store = openSqlite(':memory:');
  const answer = Promise.withResolvers<HarnessStatus>();
  const adapter = turnHarness(async function* () {});
  const harnesses = createRegistry([{ ...adapter, probe: () => answer.promise }]);
  const steps: string[] = [];
  const made = ensureHarnesses({ store, clock: systemClock, random: systemRandom, harnesses }, 'owner', (work) => {
    steps.push('alone');
    return work();
  });
  await new Promise(setImmediate);
  expect(steps).toEqual([]);
  answer.resolve(await adapter.probe());
  await made;
  expect(steps).toEqual(['alone']);
  expect(await store.harnesses('owner')).toMatchObject([{ base: 'turns' }]);
});
