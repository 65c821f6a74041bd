import { bubblewrapArguments, type SandboxPlan } from './bubblewrap.ts';
import { sandboxCaches } from './sandboxed-shell.ts';
import type { StdioServer } from '../mcp/mcp-server.ts';

export interface SandboxedProgram extends SandboxPlan {
  /** Absolute path of `bwrap`. */
  readonly bubblewrap: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Absolute path, as it is inside. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * A program with what the shell tool's commands can do, started without a shell (UP-50). Its variables are made inside: the
 * loader of `bwrap` itself runs outside, and some of them tell a loader what to load and where to write.
 */
export function sandboxProgram({
  bubblewrap,
  command,
  args,
  cwd,
  env,
  ...plan
}: SandboxedProgram): Required<Pick<StdioServer, 'command' | 'args' | 'cwd'>> {
  const variables = Object.entries({ ...sandboxCaches, ...env }).flatMap(([name, value]) => ['--setenv', name, value]);
  return {
    command: bubblewrap,
    args: [...bubblewrapArguments(plan), ...variables, '--chdir', cwd, '--', command, ...args],
    cwd: plan.workspace,
  };
}
