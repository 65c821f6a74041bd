import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

/** Who may import whom: what stands today, and no more than the design allows. A folder without a row may import nothing; the deepest row that fits a file counts. */
const mayImport: Record<string, readonly string[]> = {
  core: [],
  protocol: ['core'],
  views: ['core', 'protocol'],
  engine: ['core', 'process', 'net'],
  process: ['core'],
  net: ['core'],
  webhooks: ['core', 'net', 'stores'],
  harnesses: ['core'],
  'harnesses/native': ['harnesses', 'core', 'engine'],
  'harnesses/foreign': ['harnesses', 'harnesses/relay', 'core', 'process'],
  'harnesses/relay': ['core'],
  'harnesses/claude-code': ['harnesses', 'harnesses/foreign', 'core', 'process'],
  'harnesses/codex': ['harnesses', 'harnesses/foreign', 'core', 'process'],
  'harnesses/pi': ['harnesses', 'harnesses/foreign', 'core', 'process'],
  'harnesses/acp': ['harnesses', 'harnesses/foreign', 'core', 'process'],
  'harnesses/harness-v1': ['harnesses', 'harnesses/foreign', 'core', 'process', 'protocol'],
  stores: ['core'],
  'stores/sqlite': ['stores', 'core'],
  'stores/postgres': ['stores', 'core'],
  files: ['core', 'process'],
  packages: ['core', 'stores'],
  tasks: ['core', 'views', 'harnesses', 'stores', 'files', 'packages', 'net'],
  auth: ['core', 'stores'],
  http: ['core', 'protocol', 'views', 'tasks', 'files', 'stores', 'auth', 'webhooks'],
  client: ['core', 'protocol'],
  console: ['client', 'views'],
  runtimes: ['core', 'engine', 'tasks', 'stores', 'harnesses', 'harnesses/native'],
  'runtimes/temporal': ['runtimes', 'core', 'engine', 'tasks', 'stores'],
  'runtimes/harness-v1': ['runtimes', 'core', 'engine', 'protocol', 'views'],
  cli: [
    'core',
    'views',
    'client',
    'server.ts',
    'local-agent.ts',
    'data-keys.ts',
    'near-data-folder.ts',
    'compose.ts',
    'inspect.ts',
    'config.ts',
    'version.ts',
    'data-export.ts',
    'run-files.ts',
  ],
  testing: ['core', 'engine', 'stores', 'runtimes', 'agent.ts', 'client', 'harnesses', 'protocol', 'read-run-file.ts'],
};
/** Files whose imports tie no implementation: the folders that many may import show only these to them. */
const contracts: Record<string, readonly string[]> = {
  harnesses: ['harness.ts', 'registry.ts'],
  stores: [
    'store.ts',
    'admission.ts',
    'harness-record.ts',
    'file-store.ts',
    'session-store.ts',
    'principal-store.ts',
    'webhook-store.ts',
    'run-log.ts',
    'run-writer.ts',
  ],
};
const pureFiles = ['src/core/**/*.ts', 'src/views/**/*.ts', 'src/engine/{decide,react,recover,reply-reader}.ts'];

const sources = globSync('src/**/*.{ts,tsx}', { exclude: ['**/*.test.ts', '**/*.test-d.ts'] });
const importPath = /\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;

const withoutComments = (file: string) => readFileSync(file, 'utf8').replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '');

function folderOf(path: string): string {
  const parts = relative('src', path).split('/').slice(0, -1);
  while (parts.length > 1 && !(parts.join('/') in mayImport)) parts.pop();
  return parts.join('/');
}

function* importsOf(file: string): Generator<string> {
  for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(importPath)) yield join(dirname(file), target);
}

function isAllowed(file: string, target: string): boolean {
  const [own, other] = [folderOf(file), folderOf(target)];
  if (own === '' || own === other) return true;
  return mayImport[own]?.includes(other === '' ? relative('src', target) : other) ?? false;
}

test('every folder imports only what its row allows', () => {
  const breaches = sources.flatMap((file) =>
    [...importsOf(file)].filter((target) => !isAllowed(file, target)).map((target) => `${file} imports ${target}`),
  );
  expect(breaches).toEqual([]);
});

test('use cases and the server know harnesses and stores by their contracts only', () => {
  const outside = sources.filter((file) => /^src\/(tasks|http|auth|files|webhooks|cli)\//.test(file));
  const breaches = outside.flatMap((file) =>
    [...importsOf(file)]
      .filter(
        (target) => contracts[folderOf(target)]?.includes(relative(join('src', folderOf(target)), target)) === false,
      )
      .map((target) => `${file} imports ${target}`),
  );
  expect(breaches).toEqual([]);
});

test('E-005: the pure files see no clock, no randomness, no process and no Node', () => {
  const impure = /\bDate\.now\b|new Date\b|Math\.random|\bprocess\.|setTimeout|setInterval|from 'node:|\bcrypto\b/;
  const files = globSync(pureFiles, { exclude: ['**/*.test.ts'] });
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => impure.test(withoutComments(file)))).toEqual([]);
});

test('E-001: a log is only ever appended to: but for retention, nothing in it is changed or taken out', () => {
  const changes = /(?:UPDATE|DELETE FROM|REPLACE INTO)\s+event_batches/;
  expect(sources.filter((file) => changes.test(withoutComments(file))).toSorted()).toEqual([
    'src/stores/postgres/prune.ts',
    'src/stores/sqlite/prune.ts',
  ]);
});

test('E-011: time passes and chance falls in system.ts alone, and only who puts the parts together takes them from there', () => {
  const source =
    /\bDate\.now\b|new Date\(\)|\bDate\(\)|Math\.random|\b(?:setTimeout|setInterval)\(|AbortSignal\.timeout|performance\.|hrtime|random(?:UUID|Int|Fill)/;
  const users = sources.filter((file) => source.test(withoutComments(file)));
  // Of the command line only: two presses of a key are told from one by the clock of who presses. A client lives in programs
  // and pages of others, and brings its own; so does our page, whose panels time nothing but what is seen. What a workflow
  // takes for the time is its history's.
  expect(users.filter((file) => !file.startsWith('src/console/panels/')).toSorted()).toEqual([
    'src/cli/stop-signals.ts',
    'src/client/system.ts',
    'src/console/run/browser-platform.ts',
    'src/runtimes/temporal/run-workflow.ts',
    'src/system.ts',
  ]);
  const takers = sources.filter((file) => [...importsOf(file)].includes('src/system.ts'));
  expect(takers.filter((file) => folderOf(file) !== '')).toEqual([]);
});

test('the environment is read in config.ts alone', () => {
  expect(sources.filter((file) => readFileSync(file, 'utf8').includes('process.env'))).toEqual(['src/config.ts']);
});

test('the root entry loads no provider client before a model of it is opened', () => {
  const eager = /^import (?!type)[^;]*from '(@ai-sdk\/|@openrouter\/|undici)/m;
  expect(sources.filter((file) => !file.startsWith('src/testing/') && eager.test(readFileSync(file, 'utf8')))).toEqual(
    [],
  );
});
