import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { ConfigurationError } from '../../core/errors.ts';
import { createHostShell } from './host-shell.ts';
import { createInterpretedShell } from './interpreted-shell.ts';
import { createSandboxedShell } from './sandboxed-shell.ts';
import { findProgram } from '../../process/find-program.ts';
import type { Shell, ShellKind, ShellParts } from './shell.ts';

export type ShellSetting = 'auto' | ShellKind | 'off';

/**
 * The shell of a setting; null when there is to be none. `auto` is a sandbox that has been seen to hold, else the
 * interpreter; it is never the host. To be called once: it runs a command.
 * @throws ConfigurationError  What was asked for cannot be had here; the sentence says why, and what to do.
 */
export async function chooseShell(setting: ShellSetting, parts: ShellParts): Promise<Shell | null> {
  switch (setting) {
    case 'off':
      return null;
    case 'interpreted':
      return createInterpretedShell(parts, null);
    case 'host': {
      const bash = findProgram('bash', parts.environment['PATH']);
      if (bash === null) throw new ConfigurationError(`The shell 'host' cannot be used: there is no bash in PATH.`);
      return createHostShell(parts, bash);
    }
    case 'sandboxed':
    case 'auto': {
      const sandbox = await openSandbox(parts);
      if (typeof sandbox !== 'string') return sandbox;
      if (setting === 'auto') return createInterpretedShell(parts, sandbox);
      throw new ConfigurationError(
        `The shell 'sandboxed' cannot be used: ${sandbox}. ${remedy} Or choose 'interpreted', or 'host' if nothing has to keep commands inside the workspace.`,
      );
    }
  }
}

const remedy =
  'On Linux, install bash and bubblewrap and let this user make namespaces (kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0, in a container a profile that permits them).';

/** A sandbox that has been tried, or why there is none. */
async function openSandbox(parts: ShellParts): Promise<Shell | string> {
  if (process.platform !== 'linux') return `bubblewrap needs Linux, and this is ${process.platform}`;
  const [bubblewrap, bash] = ['bwrap', 'bash'].map((name) => findProgram(name, parts.environment['PATH']));
  if (!bubblewrap) return 'bwrap is not installed';
  if (!bash) return 'bash is not installed';
  const folder = await mkdtemp(join(tmpdir(), 'reins-sandbox-'));
  try {
    const programs = { bubblewrap, bash };
    const trial = createSandboxedShell({ ...parts, hidden: [...parts.hidden, join(folder, 'hidden')] }, programs);
    return (await tryOut(trial, folder)) ?? createSandboxedShell(parts, programs);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Null when it holds: writes the workspace and nothing beside it, and does not read what is hidden. */
async function tryOut(shell: Shell, folder: string): Promise<string | null> {
  const [workspace, hidden] = [join(folder, 'workspace'), join(folder, 'hidden')];
  await mkdir(workspace);
  await mkdir(hidden);
  await writeFile(join(hidden, 'secret'), 'hidden');
  const output: Uint8Array[] = [];
  const run = shell.run('cat ../hidden/secret >seen; echo >../beside; echo tried', {
    workspace,
    signal: new AbortController().signal,
    timeoutMs: 10_000,
    onOutput: (chunk) => void output.push(chunk),
  });
  const failure = await run.then(
    () => null,
    (error: unknown) => error,
  );
  if (failure instanceof Error) return `bwrap does not work here (${failure.message})`;
  const said = Buffer.concat(output).toString();
  const seen = await readFile(join(workspace, 'seen'), 'utf8').catch(() => null);
  if (seen === null || !said.endsWith('tried\n')) return `bwrap does not work here (${lastLine(said)})`;
  return seen === '' && !existsSync(join(folder, 'beside')) ? null : 'bwrap does not keep commands inside';
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) || 'it said nothing';
}
