import { createProcessShell } from './process-shell.ts';
import type { Shell, ShellParts } from './shell.ts';

/** Plain bash with the rights of this process: the operator's explicit choice, never taken by itself. */
export function createHostShell(parts: ShellParts, bash: string): Shell {
  return createProcessShell(parts, {
    kind: 'host',
    guidance: 'Commands run on this machine, with its files and its network.',
    describe: () => `host: ${bash} with all rights of this process; nothing keeps a command inside the workspace`,
    launch: (command) => ({ program: bash, args: ['-c', command, 'bash'] }),
  });
}
