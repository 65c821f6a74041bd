import { homedir } from 'node:os';
import { bubblewrapArguments } from './bubblewrap.ts';
import { createProcessShell } from './process-shell.ts';
import { credentialPaths } from './credential-paths.ts';
import type { Shell, ShellParts } from './shell.ts';

/**
 * Runs the command as a child, then tells on descriptor 3 what is still there: with the end of this script the kernel
 * ends all that is left. It lives through SIGTERM, which is for the command: its own end would be everybody's. What it
 * says itself, such as how the command died, is no output.
 */
const supervise = `trap : TERM
exec 4>&2 2>/dev/null
"$0" -c "$1" bash 2>&4 3>&- 4>&-
status=$?
for process in /proc/[0-9]*; do
  case "\${process#/proc/}" in 1 | $$) continue ;; esac
  read -r name <"$process/comm" && echo "$name" >&3
done
exit "$status"`;

/** The home is read-only, and what programs cache there would not be theirs to keep. */
export const sandboxCaches: Readonly<Record<string, string>> = {
  TMPDIR: '/tmp',
  XDG_CACHE_HOME: '/tmp/.cache',
  npm_config_cache: '/tmp/.cache/npm',
  CARGO_HOME: '/tmp/.cache/cargo',
  GOMODCACHE: '/tmp/.cache/go-mod',
};

export interface SandboxPrograms {
  readonly bubblewrap: string;
  readonly bash: string;
}

/** Real bash in a sandbox of the kernel's namespaces; see `bubblewrap.ts` for what it keeps. */
export function createSandboxedShell(parts: ShellParts, { bubblewrap, bash }: SandboxPrograms): Shell {
  const { environment, network } = parts;
  const home = environment['HOME'] ?? homedir();
  const reach = network === 'full' ? 'the network of this machine' : 'no network';
  return createProcessShell(parts, {
    kind: 'sandboxed',
    guidance: `Only the working directory keeps what is written there; /tmp is empty at each call and the rest of the machine is read-only. There is ${reach}.`,
    describe: () => `sandboxed: bash in ${bubblewrap}; the workspace is writable, the rest read-only, ${reach}`,
    launch(command, { workspace, readOnly }) {
      const hidden = [...parts.hidden, ...credentialPaths(home)];
      const shown = { readOnly, writable: [] };
      const sandbox = bubblewrapArguments({ workspace, hidden, network, shown });
      return {
        program: bubblewrap,
        args: [...sandbox, '--', bash, '-c', supervise, bash, command],
        env: sandboxCaches,
        role: 'supervisor',
      };
    },
  });
}
