import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { bundleWorkflow } from './open-worker.ts';
import { silentLogger } from '../../core/logger.ts';

const root = join(import.meta.dirname, 'run-workflow.ts');
/** Types are gone before anything runs. */
const valueImport = /^(?:import|export) (?!type )[^;]*?from '([^']+)'/gm;
const impure =
  /\bDate\b|Math\.random|\bprocess\.|\bsetTimeout|\bsetInterval|\bcrypto\b|\bperformance\b|\bfetch\(|\bimport\(/;

function sourcesFrom(file: string, seen = new Map<string, string>()): ReadonlyMap<string, string> {
  const source = readFileSync(file, 'utf8').replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '');
  seen.set(file, source);
  for (const [, target = ''] of source.matchAll(valueImport))
    if (target.startsWith('.') && !seen.has(join(dirname(file), target)))
      sourcesFrom(join(dirname(file), target), seen);
  return seen;
}

test('E-871: the workflow loads the pure core, Temporal, and nothing else', () => {
  const sources = sourcesFrom(root);
  const packages = [...sources.values()].flatMap((source) =>
    [...source.matchAll(valueImport)].flatMap(([, target = '']) => (target.startsWith('.') ? [] : [target])),
  );
  expect([...new Set(packages)]).toEqual(['@temporalio/workflow']);
  const files = [...sources.keys()].map((file) => relative(join(import.meta.dirname, '../..'), file));
  expect(files).toContain('engine/decide.ts');
  expect(files.filter((file) => !/^(core|engine)\//.test(file)).toSorted()).toEqual([
    'runtimes/temporal/contract.ts',
    'runtimes/temporal/run-workflow.ts',
  ]);
  // Of the workflow itself: there Temporal's sandbox answers `Date` from the history.
  expect([...sources].flatMap(([file, source]) => (file !== root && impure.test(source) ? [file] : []))).toEqual([]);
});

test('E-871: it is bundled, which refuses all of Node', async () => {
  const { code } = await bundleWorkflow(silentLogger);
  expect(code).toContain('reinsRunV1');
  expect(code.length).toBeLessThan(4_000_000);
}, 60_000);
