// The package as a program gets it: packed, unpacked beside its own dependencies and nothing else, and used by the very
// examples that the documents show.

import { cpSync, globSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
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
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: object;
  };
  for (const name of [...Object.keys(dependencies), '@types/node']) link(name);
  writeFileSync(join(app, 'package.json'), '{"type":"module"}');
  writeExamples('readme', 'README.md');
  writeExamples('library', 'docs/library.md');
}, 120_000);

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
