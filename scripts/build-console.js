// Builds the console page: `dist/console` from `src/console`, with its larger files compressed beside them. With `--if-stale`
// only where a source is newer than the build, and a build that cannot be made stops nothing: the server works without the
// page, and says so in its place.

import { readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}dist/console`;
const mayFail = process.argv.includes('--if-stale');

if (!mayFail || isStale()) await buildAll();

function isStale() {
  const built = modifiedAt(`${folder}/index.html`);
  const folders = ['console', 'client', 'core', 'protocol', 'views'].map((name) => `${root}src/${name}`);
  const sources = folders.flatMap((each) =>
    readdirSync(each, { recursive: true }).map((path) => `${each}/${String(path)}`),
  );
  return [...sources, `${root}package-lock.json`].some((path) => modifiedAt(path) > built);
}

function modifiedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

async function buildAll() {
  // Beside its place and moved there as a whole: builds may run at the same time, and a server may be reading.
  const outDir = `${folder}.${process.pid}`;
  try {
    // Whatever is inherited: a test run has a mode of its own, in which React is built to be debugged.
    process.env.NODE_ENV = 'production';
    const { build } = await import('vite');
    await build({ root: `${root}src/console`, logLevel: 'warn', build: { outDir } });
    for (const name of readdirSync(`${outDir}/assets`)) compress(`${outDir}/assets/${name}`);
    rmSync(folder, { recursive: true, force: true });
    renameSync(outDir, folder);
  } catch (cause) {
    rmSync(outDir, { recursive: true, force: true });
    if (!mayFail) throw cause;
    if (!isStale()) return;
    console.error(`The console page could not be built (npm run build:console): ${cause.message}`);
  }
}

function compress(path) {
  if (!/\.(?:js|css|svg)$/.test(path)) return;
  const bytes = readFileSync(path);
  if (bytes.length < 1_024) return;
  writeFileSync(`${path}.br`, brotliCompressSync(bytes));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
