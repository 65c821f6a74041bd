import { expect, test } from 'vitest';
import { appendAudit } from './append-audit.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { expireTasks } from './expire-tasks.ts';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { runIds } from '../core/ids.ts';
import { readAudit } from './read-audit.ts';
import { silentLogger } from '../core/logger.ts';
import { systemRandom } from '../system.ts';
import type { Services } from './services.ts';

const dayMs = 86_400_000;

test('E-844: what nobody has claimed is freed by the clock, however long streams are kept', async () => {
  await using store = openSqlite(':memory:');
  const clock = createManualClock(dayMs);
  const settings = { sessionRetentionSeconds: null, streamRetentionSeconds: 365 * 86_400, uploadRetentionSeconds: 1 };
  const parts = { store, clock, random: systemRandom, logger: silentLogger, uploads: null, settings };
  const services = parts as unknown as Services;
  const { ref } = await store.putContent(runIds.make('never'), Buffer.from('lost'));
  await expireTasks(services);
  await clock.advance(3_600_000);
  await expireTasks(services);
  expect(await store.content(ref)).not.toBeNull();
  await clock.advance(1);
  await expireTasks(services);
  expect(await store.content(ref)).toBeNull();
});

test('UR-54: the audit log is kept for 365 days where nothing else is set, and no longer', async () => {
  await using store = openSqlite(':memory:');
  const clock = createManualClock(400 * dayMs);
  const settings = { sessionRetentionSeconds: null, streamRetentionSeconds: 1, uploadRetentionSeconds: 1 };
  const parts = { store, clock, random: systemRandom, logger: silentLogger, uploads: null, settings };
  const services = parts as unknown as Services;
  const fact = { principal: 'ada', keyId: 'key_1', object: 'x', requestId: 'req_1' };
  const actions = async () =>
    (await readAudit(services, { cursor: null, limit: 9 })).entries.map((entry) => entry.action);
  await appendAudit(services, { ...fact, action: 'old' });
  await clock.advance(dayMs);
  await appendAudit(services, { ...fact, action: 'new' });
  await clock.advance(364 * dayMs);
  await expireTasks(services);
  expect(await actions()).toEqual(['new', 'old']);
  await clock.advance(1);
  await expireTasks(services);
  expect(await actions()).toEqual(['new']);
});
