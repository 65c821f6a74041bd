// Builds the published form: `dist/` from `src/` with plain tsc, and the console page with Vite; then proves that every file
// which package.json names exists, and the page.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('..', import.meta.url);
rmSync(new URL('dist/', root), { recursive: true, force: true });

const compiler = fileURLToPath(import.meta.resolve('typescript/package.json')).replace('package.json', 'bin/tsc');
const built = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
  cwd: fileURLToPath(root),
  stdio: 'inherit',
});
if (built.status !== 0) process.exit(built.status ?? 1);

await import('./build-console.js');

const { exports, bin } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
const named = [...filesIn(exports), ...filesIn(bin), './dist/cli/main.js', './dist/console/index.html'];
const missing = named.filter((path) => !existsSync(new URL(path, root)));
if (missing.length > 0) {
  console.error(`The build lacks files that package.json names: ${missing.join(', ')}`);
  process.exit(1);
}

function filesIn(entry) {
  return typeof entry === 'string' ? [entry] : Object.values(entry).flatMap(filesIn);
}
