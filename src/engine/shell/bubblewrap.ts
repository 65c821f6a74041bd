// The arguments of `bwrap`, which is what a sandboxed command can do.
//
// B1. Everything is read-only but the workspace and a `/tmp` that lives as long as the command.
// B2. `hidden` is not to be seen, wherever it lies; the workspace and `shown` inside a hidden folder are, and nothing beside
//     them.
// B3. `/run` is empty: its sockets (container engines, the message bus, agents) are ways out.
// B4. No process outside is seen or signalled, and none outlives the command or this server: the kernel ends the pid
//     namespace with its first process, and that one with us.
// B5. No capability is left, also when the server runs as root: a mount that hides could be taken away again.

import { existsSync, realpathSync, statSync } from 'node:fs';
import { relative, isAbsolute } from 'node:path';
import { ReinsError } from '../../core/errors.ts';
import type { ShellNetwork } from './shell.ts';

export interface SandboxPlan {
  readonly workspace: string;
  readonly hidden: readonly string[];
  readonly network: ShellNetwork;
  /** Folders that are seen although they lie in what is hidden: absolute paths without links. */
  readonly shown?: { readonly readOnly: readonly string[]; readonly writable: readonly string[] };
}

export function bubblewrapArguments({ workspace, hidden, network, shown }: SandboxPlan): readonly string[] {
  const root = realpathSync(workspace);
  if (root === '/')
    throw new ReinsError('The whole file system cannot be the working directory of a sandboxed command.');
  const covered = hidden.filter((path) => existsSync(path)).map((path) => realpathSync(path));
  const inside = topmost(covered.filter((path) => path !== root && isWithin(path, root)));
  const outside = topmost(covered.filter((path) => !isWithin(path, root)));
  return [
    '--unshare-user --unshare-all --die-with-parent --cap-drop ALL'.split(' '),
    network === 'full' ? ['--share-net'] : [],
    '--ro-bind / / --dev /dev --proc /proc'.split(' '),
    ...['/tmp', '/run'].filter((path) => existsSync(path)).map((path) => ['--tmpfs', path]),
    ...keptOfRun().map((path) => ['--ro-bind-try', path, path]),
    ...outside.map(cover),
    ['--bind', root, root],
    ...inside.map(cover),
    ...(shown?.readOnly ?? []).map((path) => ['--ro-bind', path, path]),
    ...(shown?.writable ?? []).map((path) => ['--bind', path, path]),
    // Only now: folders on the way to what is seen had to be made.
    ...[...outside, ...inside].map(seal),
    ['--chdir', root],
  ].flat();
}

const isFolder = (path: string) => statSync(path).isDirectory();
/** A file reads as empty: programs that look for it go on without. */
const cover = (path: string) => (isFolder(path) ? ['--tmpfs', path] : ['--dev-bind', '/dev/null', path]);
const seal = (path: string) => (isFolder(path) ? ['--remount-ro', path] : []);

/** Without what lies in another one: there is nothing left to cover. */
function topmost(paths: readonly string[]): readonly string[] {
  const single = [...new Set(paths)];
  return single.filter((path) => !single.some((other) => other !== path && isWithin(path, other)));
}

/** What programs need of `/run`: the resolver's file, and all programs of a NixOS. */
function keptOfRun(): readonly string[] {
  const resolver = existsSync('/etc/resolv.conf') ? realpathSync('/etc/resolv.conf') : '';
  return ['/run/current-system', ...(resolver.startsWith('/run/') ? [resolver] : [])];
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}
