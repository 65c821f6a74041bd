import { expect, onTestFinished, test } from 'vitest';
import { acceptTask } from './accept-task.ts';
import { composeLocal } from '../compose.ts';
import { createFrameFeeds } from './frame-feeds.ts';
import { createRunLog } from '../stores/run-log.ts';
import { loadConfig } from '../config.ts';
import { plainTask } from './task-body.ts';
import { RefusedEntryError } from '../core/errors.ts';
import { silentLogger } from '../core/logger.ts';
import { tmpdir } from 'node:os';
import type { Append, Store } from '../stores/store.ts';
import type { Services } from './services.ts';

/** A server whose store cannot hold what some entries say, and says so of the whole batch. */
async function serverThatRefuses(isRefused: (entry: Append) => boolean): Promise<Services> {
  const local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
  onTestFinished(() => local[Symbol.asyncDispose]());
  await local.harness();
  const { services } = local;
  const store: Store = {
    ...services.store,
    async append(batch, options) {
      if (batch.some(isRefused)) throw new RefusedEntryError('The store could not read or write.');
      return services.store.append(batch, options);
    },
  };
  const log = createRunLog({ store, clock: services.clock, logger: silentLogger });
  return { ...services, store, log, frames: createFrameFeeds(log) };
}

async function accept(services: Services, text: string) {
  const messages = [{ content: [{ type: 'text', text }] }] as const;
  const accepted = await acceptTask(services, {
    principal: 'owner',
    body: { ...plainTask, messages },
    idempotency: null,
  });
  return accepted.runId;
}

test.each([
  ['a fact', ({ events }: Append) => events.some(({ type }) => type === 'turn-complete')],
  ['its own ending', ({ end }: Append) => end?.status === 'completed'],
])(
  'C2, Q7: a task fails at once, and alone, where the store cannot hold %s; nobody takes it up again',
  async (_, is) => {
    const bad = new Set<string>();
    const services = await serverThatRefuses((entry) => bad.has(entry.runId) && is(entry));
    const first = accept(services, 'Reply with exactly: 2').then((runId) => {
      bad.add(runId);
      return runId;
    });
    const runIds = [
      await first,
      await accept(services, 'Reply with exactly: 3'),
      await accept(services, 'Reply with exactly: 4'),
    ];
    await Promise.all(runIds.map((runId) => services.runs.ended(runId)));
    const runs = await Promise.all(runIds.map((runId) => services.store.run(runId)));
    expect(runs).toMatchObject([
      { status: 'failed', generation: 1, response: { status: 'failed' } },
      { status: 'completed' },
      { status: 'completed' },
    ]);
    expect(await services.store.unfinishedRuns()).toEqual([]);
  },
);
