import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { createProcessShell } from './process-shell.ts';
import type { Shell, ShellParts } from './shell.ts';

/** Beside this file, of the same kind: source or built. */
const script = fileURLToPath(new URL('./interpret.ts', import.meta.url)).replace(/ts$/, import.meta.url.slice(-2));
const memoryMb = 512;

/**
 * A bash written in TypeScript, for machines without a sandbox. It is no boundary by itself, so it gets a process of its
 * own: without our secrets, with a limit of memory that is its own end and not the server's, ended like every other
 * process, and by Node's permission model without any file but the workspace, programs, workers or addons.
 */
export function createInterpretedShell(parts: ShellParts, reason: string | null): Shell {
  const { network } = parts;
  const reach = network === 'full' ? 'curl is there for the network' : 'there is no network';
  return createProcessShell(parts, {
    kind: 'interpreted',
    guidance: `A bash interpreter runs the commands, without any program of the machine: there are the usual commands on files and text (ls, cat, find, grep, rg, sed, awk, sort, jq, yq, tar, diff …), but no git, node, python or compiler. Only the working directory keeps what is written there. Links are not followed; ${reach}.`,
    describe: () =>
      `interpreted: just-bash in a process of its own; it reaches the workspace alone, ${reach}${reason === null ? '' : ` (no sandbox: ${reason})`}`,
    launch(command, { workspace, env }) {
      const root = realpathSync(workspace);
      const task = { command, workspace: root, network, env: { HOME: '/tmp', LANG: 'C.UTF-8', ...env } };
      return {
        program: process.execPath,
        args: [`--max-old-space-size=${memoryMb}`, ...permissions(root), script, JSON.stringify(task)],
      };
    },
  });
}

function permissions(root: string): readonly string[] {
  const readable = [root, fileURLToPath(new URL('.', import.meta.url)), ...packageFolders()];
  return [
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-write=${root}`,
    // Newer versions of Node also keep the network closed.
    ...(process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : []),
  ];
}

/** Where Node looks for the interpreter from here, and the outermost `node_modules` that really holds it and its parts. */
function packageFolders(): readonly string[] {
  const looked = createRequire(import.meta.url).resolve.paths('just-bash') ?? [];
  const entry = fileURLToPath(import.meta.resolve('just-bash'));
  const real = entry.slice(0, entry.indexOf('/node_modules/') + '/node_modules'.length);
  return [...looked.filter((path) => path.endsWith('/node_modules') && existsSync(path)), real];
}
