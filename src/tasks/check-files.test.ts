import { afterEach, expect, test } from 'vitest';
import { admissionOf } from '../testing/store-samples.ts';
import { composeLocal, type Local } from '../compose.ts';
import { createSessionFiles } from '../files/session-files.ts';
import { join } from 'node:path';
import { loadConfig } from '../config.ts';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { rememberFiles, withFileChanges } from './check-files.ts';
import { silentLogger } from '../core/logger.ts';
import { tmpdir } from 'node:os';
import type { EventDraft } from '../core/run-event.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Rig {
  readonly services: Services;
  readonly run: RunRecord;
  readonly folder: string;
  readonly said: string[];
}

/** @param ensure  Where the working directory is. */
async function open(ensure?: () => Promise<string>): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), 'reins-check-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const local: Local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: folder });
  cleanups.push(async () => local[Symbol.asyncDispose]());
  const { services } = local;
  const workspaces = { ...services.workspaces, ...(ensure === undefined ? {} : { ensure }) };
  const dataDir = await mkdtemp(join(tmpdir(), 'reins-check-'));
  cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
  const files = createSessionFiles({ dataDir, workspaces, maxBytes: 100, maxFiles: 10 });
  const said: string[] = [];
  const logger = {
    ...silentLogger,
    error: (message: string) => void said.push(message),
    warn: (message: string) => void said.push(message),
  };
  const admission = admissionOf('x');
  await services.store.admit(admission);
  const run = await services.store.run(admission.runId);
  if (run === null) throw new Error('There is no run.');
  return { services: { ...services, files, logger }, run, folder, said };
}

const at = { step: 1, attempt: 0 };
const failure = { type: 'ProviderError', message: 'x', retryable: false } as const;
const budget: EventDraft = { type: 'budget-reached', data: { budget: 'time', limit: 1, used: 1, then: 'stop' }, ...at };
const error: EventDraft = { type: 'error', data: failure, ...at };
const gap: EventDraft = { type: 'gap', data: { reason: 'deltas_lost' }, ...at };

test('E-131: what the last look found stands before the words about the end, also where those are all there is', async () => {
  const { services, run, folder } = await open();
  await rememberFiles(services, run, 0);
  await writeFile(join(folder, 'made'), 'm');
  for (const [ending, expected] of [
    [
      [gap, budget],
      ['gap', 'file-changed', 'budget-reached'],
    ],
    [
      [gap, error],
      ['gap', 'file-changed', 'error'],
    ],
    [[error], ['file-changed', 'error']],
    [[gap], ['gap', 'file-changed']],
  ] as const) {
    const told = await withFileChanges(services, run, ending);
    expect(told.map(({ type }) => type)).toEqual(expected);
  }
});

const missing = (reason: 'files-limit' | 'files-unchecked', step = 1): EventDraft => ({
  type: 'gap',
  step,
  attempt: 0,
  data: { reason },
});

test('a look that fails is told to the operator and stands in the log, and the run ends as it would have', async () => {
  const { services, run, said } = await open(() => Promise.reject(new Error('no disk')));
  expect(await rememberFiles(services, run, 3)).toEqual([missing('files-unchecked', 3)]);
  expect(await withFileChanges(services, run, [gap, error])).toEqual([gap, missing('files-unchecked'), error]);
  expect(said).toHaveLength(2);
});

test('the first look is tried again: what is made after one that failed would be lost', async () => {
  let looks = 0;
  let place = '';
  const { services, run, folder, said } = await open(async () => {
    looks += 1;
    if (looks === 1) throw new Error('busy');
    return place;
  });
  place = folder;
  expect(await rememberFiles(services, run, 0)).toEqual([]);
  await writeFile(join(folder, 'made'), 'm');
  expect((await withFileChanges(services, run, [error])).map(({ type }) => type)).toEqual(['file-changed', 'error']);
  expect(said).toEqual([]);
});

test('F4: what is not kept stands in the log, and is named to the operator once', async () => {
  const { services, run, folder, said } = await open();
  await rememberFiles(services, run, 0);
  await writeFile(join(folder, 'large'), 'x'.repeat(101));
  for (let look = 0; look < 2; look++)
    expect(await withFileChanges(services, run, [gap, budget])).toEqual([gap, missing('files-limit'), budget]);
  expect(said).toHaveLength(1);
});
