// Puts the pinned harnesses in place, which the contract suite runs: `node scripts/install-harnesses.js [fast|nightly]`, both
// when no set is named. They belong to tests alone, have lock files of their own and are never published.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const versions = new URL('../harnesses/versions/', import.meta.url);
const sets = ['fast', 'nightly'];
const named = process.argv.slice(2);
const unknown = named.filter((set) => !sets.includes(set));
if (unknown.length > 0) {
  console.error(`No set of harnesses is called ${unknown.join(', ')}; there are ${sets.join(' and ')}.`);
  process.exit(2);
}
for (const set of named.length > 0 ? named : sets) install(set);

function install(set) {
  const folder = new URL(`${set}/`, versions);
  const stamp = new URL('node_modules/.installed', folder);
  const wanted = digest(folder);
  if (read(stamp) === wanted) {
    console.log(`${set}: in place`);
    return;
  }
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const done = spawnSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: fileURLToPath(folder),
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (done.status !== 0) {
    console.error(`${set}: npm ci failed${done.error ? `: ${done.error.message}` : ''}`);
    process.exit(1);
  }
  // `npm ci` empties the folder first, so the stamp vouches for a whole install and nothing else.
  writeFileSync(stamp, wanted);
}

/** What the folder has to hold: the lock, on this kind of machine. */
function digest(folder) {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}\n`);
  for (const file of ['package.json', 'package-lock.json']) hash.update(readFileSync(new URL(file, folder)));
  return hash.digest('hex');
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
