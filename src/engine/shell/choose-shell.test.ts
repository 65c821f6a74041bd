import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { chooseShell, type ShellSetting } from './choose-shell.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { findProgram } from '../../process/find-program.ts';
import { systemClock, systemRandom } from '../../system.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reins-choose-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const choose = (setting: ShellSetting, path = process.env['PATH'] ?? '') =>
  chooseShell(setting, {
    clock: systemClock,
    random: systemRandom,
    environment: { PATH: path },
    marker: 'm',
    network: 'full',
    hidden: [],
  });

/** A PATH with these programs, and beside them only bash and mkfifo. */
function pathWith(programs: Record<string, string>): string {
  for (const name of ['bash', 'mkfifo', 'cat'])
    symlinkSync(findProgram(name, process.env['PATH']) ?? '', join(folder, name));
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!${join(folder, 'bash')}\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

test('what is asked for is what there is, or none', async () => {
  expect(await choose('off')).toBeNull();
  expect((await choose('interpreted'))?.describe()).toMatch(
    /^interpreted: .* workspace alone, curl is there for the network$/,
  );
  expect((await choose('host'))?.describe()).toMatch(/^host: \/.*\/bash with all rights/);
});

test('auto is the sandbox where it works, and never the host', async () => {
  const sandbox = await choose('sandboxed').catch((error: unknown) => error);
  expect((await choose('auto'))?.kind).toBe(sandbox instanceof Error ? 'interpreted' : 'sandboxed');
});

test.runIf(process.platform === 'linux')(
  'auto without bubblewrap is the interpreter, and its description says why',
  async () => {
    const shell = await choose('auto', pathWith({}));
    expect(shell?.describe()).toMatch(/^interpreted: .* \(no sandbox: bwrap is not installed\)$/);
    await expect(choose('sandboxed', folder)).rejects.toThrow(ConfigurationError);
    await expect(choose('sandboxed', folder)).rejects.toThrow(/bwrap is not installed\. .*install bash and bubblewrap/);
  },
);

test.runIf(process.platform === 'linux')(
  'a bubblewrap that the system does not let work is no sandbox, and what it said is told',
  async () => {
    const path = pathWith({ bwrap: 'echo "bwrap: setting up uid map: Permission denied" >&2; exit 1' });
    expect((await choose('auto', path))?.describe()).toContain(
      '(no sandbox: bwrap does not work here (bwrap: setting up uid map: Permission denied))',
    );
    await expect(choose('sandboxed', path)).rejects.toThrow(/setting up uid map: Permission denied.*namespaces/);
  },
);

test.runIf(process.platform === 'linux')(
  'a bubblewrap that runs commands without keeping them in is no sandbox',
  async () => {
    const path = pathWith({ bwrap: 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"' });
    expect((await choose('auto', path))?.describe()).toContain('(no sandbox: bwrap does not keep commands inside)');
  },
);

test('host and sandbox without bash cannot be had', async () => {
  await expect(choose('host', ['/nowhere', '.'].join(delimiter))).rejects.toThrow(ConfigurationError);
});
