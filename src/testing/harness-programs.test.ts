import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findHarnessProgram, RequiredHarnessError, type HarnessName } from './harness-programs.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reins-programs-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function place(path: string): Promise<string> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, '#!/bin/sh\n');
  await chmod(file, 0o755);
  return file;
}

test('H-980: a pinned program goes before one on PATH, and says where its packages lie', async () => {
  const file = await place('fast/node_modules/@openai/codex-linux-x64/vendor/some-target/bin/codex');
  await place('bin/codex');
  expect(findHarnessProgram('codex', { PATH: join(folder, 'bin') }, folder)).toEqual({
    kind: 'found',
    command: file,
    args: [],
    nodeModules: join(folder, 'fast/node_modules'),
  });
});

test('a pinned script is started by the Node of the tests', async () => {
  const file = await place('fast/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js');
  expect(findHarnessProgram('pi', {}, folder)).toMatchObject({ command: process.execPath, args: [file] });
});

test('what is not pinned here is found on PATH', async () => {
  const command = await place('bin/claude');
  const path = `relative:${join(folder, 'none')}:${dirname(command)}`;
  expect(findHarnessProgram('claude-code', { PATH: path }, folder)).toEqual({
    kind: 'found',
    command,
    args: [],
    nodeModules: null,
  });
});

test('H-981: absence has a reason that says what to do, and is a failure where the harness is required', () => {
  const reason = 'not installed: node scripts/install-harnesses.js nightly';
  expect(findHarnessProgram('opencode', { REINS_REQUIRE_HARNESSES: 'codex, pi' }, folder)).toEqual({
    kind: 'absent',
    reason,
  });
  const env = { REINS_REQUIRE_HARNESSES: 'codex,opencode' };
  expect(() => findHarnessProgram('opencode', env, folder)).toThrow(RequiredHarnessError);
  expect(() => findHarnessProgram('opencode', env, folder)).toThrow(`opencode is required, and ${reason}`);
});

test('H-981: a misspelt requirement is a failure, never a requirement of nothing', () => {
  const env = { REINS_REQUIRE_HARNESSES: 'claude' };
  expect(() => findHarnessProgram('pi', env, folder)).toThrow('No harness is called claude.');
});

describe('what is installed on this machine', () => {
  const versions: readonly [HarnessName, RegExp][] = [
    ['claude-code', /^2\.1\.332\b/],
    ['codex', /\b0\.171\.0\b/],
    ['pi', /^1\.6\.0\b/],
    ['gemini-cli', /^0\.61\.0\b/],
    ['opencode', /^1\.18\.33\b/],
  ];
  for (const [name, version] of versions) {
    const program = findHarnessProgram(name, process.env);
    if (program.kind === 'absent') test.skip(`${name}: ${program.reason}`);
    else if (program.nodeModules === null) test.skip(`${name}: only on PATH, of any version`);
    else
      test(`H-980: ${name} is of the version that is pinned`, async () => {
        const env = { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder };
        const { stdout } = await promisify(execFile)(program.command, [...program.args, '--version'], { env });
        expect(stdout).toMatch(version);
      });
  }
});
