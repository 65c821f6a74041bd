// The package as a program gets it: packed, unpacked beside its own dependencies and nothing else, and used by the very
// examples that the documents show.

import { cpSync, globSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { root } from './reins-process.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../src/testing/model-servers/reply-script.ts';
import { startModelServer } from '../src/testing/model-servers/model-server.ts';
import { temporaryFolder } from './support/folders.ts';

const run = promisify(execFile);
const outcome = (script: readonly string[], cwd: string): Promise<unknown> =>
  run(process.execPath, script, { cwd }).catch((error: unknown) => error);
const app = temporaryFolder();
const installed = join(app, 'node_modules/reins');
const packed = [
  'src',
  'bin',
  'scripts',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'README.md',
  'LICENSE',
];

beforeAll(async () => {
  const copy = temporaryFolder();
  for (const name of packed) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  expect(await outcome(['scripts/build.js'], copy)).toMatchObject({ stdout: '', stderr: '' });
  await run('npm', ['pack', '--ignore-scripts'], { cwd: copy });
  const [archive = ''] = globSync(join(copy, '*.tgz'));
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', archive, '-C', installed, '--strip-components=1']);
  for (const name of [...Object.keys(manifest().dependencies), '@types/node']) link(name);
  writeFileSync(join(app, 'package.json'), '{"type":"module"}');
  writeExamples('readme', 'README.md');
  writeExamples('library', 'docs/library.md');
}, 120_000);

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly exports: Readonly<Record<string, unknown>>;
}

function manifest(): Manifest {
  return JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Manifest;
}

function link(name: string): void {
  const place = join(app, 'node_modules', name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(root, 'node_modules', name), place);
}

/** `<name>-1.ts` and so on: the TypeScript of a document, word for word. */
function writeExamples(name: string, document: string): void {
  const text = readFileSync(join(root, document), 'utf8');
  const examples = [...text.matchAll(/^```ts\n([^]*?)^```$/gm)];
  for (const [index, [, code = '']] of examples.entries()) writeFileSync(join(app, `${name}-${index + 1}.ts`), code);
}

/** Runs an example as its reader would, with a key for a provider that gives these replies. */
async function play(example: string, replies: readonly ScriptedReply[] = []) {
  await using provider = await startModelServer('anthropic', replies);
  const env = { PATH: process.env['PATH'], ANTHROPIC_BASE_URL: provider.baseURL, ANTHROPIC_API_KEY: 'key' };
  const { stdout, stderr } = await run(process.execPath, [example], { cwd: app, env });
  return { stdout, stderr, requests: provider.requests };
}

/** The page, whose code is bundled with that of others and their licences. */
const consoleFolder = join('dist', 'console');
const isOfPage = (file: string) => file.startsWith(consoleFolder);

test('the package holds what runs and its types: no tests, no sources, no maps of sources', () => {
  expect(readdirSync(installed).toSorted()).toEqual(['LICENSE', 'README.md', 'bin', 'dist', 'package.json']);
  const files = globSync('dist/**/*.*', { cwd: installed });
  expect(files).toContain(join('dist', 'index.d.ts'));
  const [page, code] = [files.filter(isOfPage), files.filter((file) => !isOfPage(file))];
  expect(code.filter((file) => !/^(?!.*\.test)[^.]+\.(js|d\.ts)$/.test(file))).toEqual([]);
  expect(page).toEqual(expect.arrayContaining(['index.html', 'licenses.md'].map((name) => join(consoleFolder, name))));
  expect(page.filter((file) => !/\.(?:html|md|svg|(?:js|css)(?:\.br|\.gz)?)$/.test(file))).toEqual([]);
});

test('the examples of README and docs/library.md compile, whatever the program is strict about', async () => {
  const settings = {
    compilerOptions: {
      module: 'nodenext',
      target: 'es2024',
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
    },
  };
  writeFileSync(join(app, 'tsconfig.json'), JSON.stringify(settings));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  expect(await outcome([compiler], app)).toMatchObject({ stdout: '', stderr: '' });
});

test('the example of README needs no key', async () => {
  expect(await play('readme-1.ts')).toMatchObject({ stdout: 'Rain in Bern.\n[completed]\n', stderr: '' });
});

test('the agent of docs/library.md calls its tool for a provider behind an address of its own', async () => {
  const replies = [simpleCall('call_1', 'weather', { city: 'Bern' }), simpleText('Take ', 'one.')];
  const { stdout, stderr, requests } = await play('library-1.ts', replies);
  expect({ stdout, stderr }).toEqual({ stdout: 'Take one.', stderr: '' });
  expect(JSON.stringify(requests.at(-1)?.body)).toContain('Rain in Bern.');
});

test('the runtime of docs/library.md, started again, has the run that it had and asks no model for it', async () => {
  const shown = { stdout: 'Chapter 1\n[completed]\n', stderr: '' };
  expect(await play('library-2.ts', [simpleText('Chapter ', '1')])).toMatchObject(shown);
  expect(await play('library-2.ts')).toMatchObject({ ...shown, requests: [] });
});

test('what docs/library.md shows for tests runs without a test runner', async () => {
  expect(await play('library-3.ts')).toMatchObject({ stdout: '', stderr: '' });
});

test('a CommonJS program loads the package, too', async () => {
  const script = "console.log(typeof require('reins').createAgent)";
  const { stdout, stderr } = await run(process.execPath, ['-e', script], { cwd: app });
  expect({ stdout, stderr }).toEqual({ stdout: 'function\n', stderr: '' });
});

describe('without its optional peers', () => {
  test('each of them is optional, and none comes with what is installed with the package', () => {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = manifest();
    const peers = Object.keys(peerDependencies);
    expect(peers).toEqual(expect.arrayContaining(['pg', 'vitest']));
    expect(peers.filter((name) => peerDependenciesMeta[name]?.optional !== true)).toEqual([]);
    const all = installedWith([...Object.keys(dependencies), ...Object.keys(optionalDependencies)]);
    expect(all.has('fastify')).toBe(true);
    expect(peers.filter((name) => all.has(name))).toEqual([]);
  });

  test('every entry can be imported, or names the peer that it is for', async () => {
    const { exports, peerDependencies } = manifest();
    const entries = Object.keys(exports).filter((entry) => !entry.endsWith('.json'));
    expect(entries).toContain('./postgres');
    const needs = await Promise.all(
      entries.map(async (entry) => {
        const { stderr } = await evaluate(`await import('${join('reins', entry)}')`);
        const [, missing = ''] = /Cannot find package '([^']+)'/.exec(stderr) ?? [];
        expect(stderr === '' || missing in peerDependencies, `${entry}: ${stderr}`).toBe(true);
        return [entry, missing] as const;
      }),
    );
    const plain = ['.', './client', './parts', './postgres', './testing'];
    expect(needs.filter(([entry, missing]) => plain.includes(entry) && missing !== '')).toEqual([]);
  });

  test('what is asked of reins/postgres says what to install', async () => {
    const opens = "await (await import('reins/postgres')).openPostgres({ url: 'postgres://127.0.0.1/x' })";
    expect((await evaluate(opens)).stderr).toContain('npm install pg.');
    const env = { REINS_DATABASE_URL: 'postgres://127.0.0.1/x' };
    const served = await evaluate(
      "await (await import('reins')).createServer((await import('reins')).loadConfig())",
      env,
    );
    expect(served.stderr).toContain('npm install pg.');
  });
});

async function evaluate(
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly stderr: string }> {
  const { PATH = '' } = process.env;
  const own = { PATH, REINS_DATA_DIR: temporaryFolder(), ...env };
  return run(process.execPath, ['--input-type=module', '-e', script], { cwd: app, env: own }).catch(
    (error: { stderr: string }) => error,
  );
}

interface Locked {
  readonly dependencies?: object;
  readonly optionalDependencies?: object;
  readonly peerDependencies?: object;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** Names of all packages that npm puts beside these, at any depth. */
function installedWith(names: readonly string[]): ReadonlySet<string> {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const found = new Set<string>();
  const open = names.map((name) => ({ name, of: '' }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const path = placeOf(packages, next);
    const locked = path === null ? undefined : packages[path];
    if (path === null || locked === undefined || found.has(path)) continue;
    found.add(path);
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = locked;
    const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers])
      open.push({ name, of: path });
  }
  return new Set([...found].map((path) => path.split('node_modules/').at(-1) ?? ''));
}

/** Where Node finds it: the nearest folder upwards. */
function placeOf(packages: object, { name, of }: { readonly name: string; readonly of: string }): string | null {
  const path = `${of === '' ? '' : `${of}/`}node_modules/${name}`;
  if (path in packages) return path;
  if (of === '') return null;
  const upwards = of.lastIndexOf('/node_modules/');
  return placeOf(packages, { name, of: upwards < 0 ? '' : of.slice(0, upwards) });
}
