import { expect, test, vi } from 'vitest';
import { createRuntime } from '../../runtime.ts';
import { createScriptedModel } from '../../testing/scripted-model.ts';
import { openSqlite } from '../../stores/sqlite/open-sqlite.ts';
import { openTemporal } from './open-temporal.ts';
import { temporal } from '../../temporal.ts';

/** As where its package is not installed. */
vi.mock('./open-worker.ts', () => {
  throw new Error('Cannot find package');
});

const agents = [{ config: { name: 'worker' }, parts: { provider: createScriptedModel([]) } }];
const address = '127.0.0.1:1';

test('a worker whose packages are missing ends no host: that is logged, and the runtime closes with its store', async () => {
  const heard: unknown[] = [];
  const logger = { info() {}, warn() {}, error: (message: string) => void heard.push(message) };
  const real = openSqlite(':memory:');
  const close = vi.fn(() => real[Symbol.asyncDispose]());
  const unhandled = vi.fn<(cause: unknown) => void>();
  process.on('unhandledRejection', unhandled);
  const runtime = createRuntime({
    agents,
    logger,
    driver: temporal({ store: { ...real, [Symbol.asyncDispose]: close }, address }),
  });
  await vi.waitFor(() => expect(heard).toEqual(['Nothing can be worked on for Temporal here.']));
  await runtime.close({ drainMs: 0 });
  process.off('unhandledRejection', unhandled);
  expect(close).toHaveBeenCalledOnce();
  expect(unhandled).not.toHaveBeenCalled();
});

test('who waits for the worker hears of it', async () => {
  const found: Promise<void>[] = [];
  const driver = temporal({ store: openSqlite(':memory:'), address });
  if (driver.kind !== 'scheduled') throw new Error('Nothing is scheduled.');
  await using _runtime = createRuntime({
    agents,
    driver: {
      ...driver,
      open(services) {
        const link = openTemporal(services, { address });
        return {
          ...link,
          work(of, watch) {
            const worker = link.work(of, { watch, concurrent: 1 });
            found.push(worker.began);
            return worker;
          },
        };
      },
    },
  });
  await expect(found[0]).rejects.toThrow();
});
