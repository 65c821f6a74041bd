// Real folders over a real store.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { harnessIds } from './core/ids.ts';
import { join } from 'node:path';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, utimes } from 'node:fs/promises';
import { openSqlite } from './stores/sqlite/open-sqlite.ts';
import { placeBundle, sweepBundles, type BundlePlace } from './place-bundle.ts';
import { type Store } from './stores/store.ts';
import { plainSetup } from './stores/harness-record.ts';
import { systemRandom } from './system.ts';
import { tmpdir } from 'node:os';

const harnessId = harnessIds.make('one');
const dayMs = 86_400_000;
let place: BundlePlace & { readonly store: Store };

beforeEach(async () => {
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), 'reins-bundles-')));
  place = { store: openSqlite(':memory:'), dataDir, random: systemRandom };
});
afterEach(async () => {
  await place.store[Symbol.asyncDispose]();
  await rm(place.dataDir, { recursive: true, force: true });
});

/** The harness has these bundles. */
async function putHarness(...refs: string[]): Promise<void> {
  const skills = refs.map((ref) => ({ name: ref, enabled: true, bundle: ref }));
  const files = [
    { path: 'SKILL.md', content: 'text' },
    { path: 'more/deep/a.bin', content_b64: 'AAE=' },
  ];
  const rest = { systemPrompt: null, disabledTools: [], maxStep: null, timeoutSeconds: null, permissions: null };
  await place.store.putHarness(
    {
      harnessId,
      principal: 'owner',
      name: 'x',
      base: 'native',
      defaultModel: null,
      ...rest,
      planning: null,
      setup: { ...plainSetup, skills },
      createdAtMs: 0,
      deleted: false,
    },
    refs.map((ref) => ({ ref, files })),
  );
}

const kept = () => readdir(join(place.dataDir, 'bundles'));

test('F1: a folder has all files, to be started and not to be written, and nothing else is left', async () => {
  await putHarness('one');
  const folders = await Promise.all([1, 2, 3].map(() => placeBundle(place, harnessId, 'one')));
  expect(new Set(folders).size).toBe(1);
  expect(await kept()).toHaveLength(1);
  const [folder = ''] = folders;
  expect((await readdir(folder, { recursive: true })).toSorted()).toEqual([
    'SKILL.md',
    'more',
    'more/deep',
    'more/deep/a.bin',
  ]);
  expect(await readFile(join(folder, 'more/deep/a.bin'))).toEqual(Buffer.from([0, 1]));
});

test('F2: a folder stays while its bundle does, a week longer than a harness names it, and then goes', async () => {
  await putHarness('one', 'two');
  const one = await placeBundle(place, harnessId, 'one');
  await placeBundle(place, harnessId, 'two');
  await putHarness('one');
  for (const day of [1, 7]) await place.store.prune({ endedBeforeMs: 0, nowMs: day * dayMs });
  await sweepBundles(place, 7 * dayMs);
  expect(await kept()).toHaveLength(2);
  await place.store.prune({ endedBeforeMs: 0, nowMs: 9 * dayMs });
  await sweepBundles(place, 9 * dayMs);
  expect((await kept()).map((name) => join(place.dataDir, 'bundles', name))).toEqual([one]);
});

test('F2: what was never finished goes after an hour, and not while somebody may be at it', async () => {
  await sweepBundles(place, 0);
  const [old, young] = ['old', 'young'].map((name) => join(place.dataDir, 'bundles', `x.new-${name}`));
  for (const folder of [old, young]) await mkdir(folder ?? '', { recursive: true });
  await utimes(old ?? '', 1_000, 1_000);
  await utimes(young ?? '', 4_000, 4_000);
  await sweepBundles(place, 5_000_000);
  expect(await kept()).toEqual(['x.new-young']);
});
