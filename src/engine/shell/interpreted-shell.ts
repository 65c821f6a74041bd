import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createProcessShell } from './process-shell.ts';
import type { Shell, ShellParts } from './shell.ts';

const script = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './interpret.ts' : './interpret.js', import.meta.url),
);
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

/** The outermost `node_modules` that holds the interpreter and what it is made of. */
function packageFolders(): readonly string[] {
  const entry = realpathSync(fileURLToPath(import.meta.resolve('just-bash')));
  const folder = entry.slice(0, entry.indexOf('/node_modules/') + '/node_modules'.length);
  return [folder].filter((path) => existsSync(path));
}
