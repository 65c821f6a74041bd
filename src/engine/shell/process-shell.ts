import { childEnvironment, type Environment } from '../../process/child-environment.ts';
import { runProcess } from '../../process/run-process.ts';
import type { ProcessRoot } from '../../process/process-tree.ts';
import type { Shell, ShellParts, ShellRun } from './shell.ts';

/** How a command becomes a program. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Environment;
  /** A supervisor reports on descriptor 3, one name a line, what the command left behind: nobody else sees it in time. */
  readonly role?: ProcessRoot['role'];
}

interface LaunchOptions extends Pick<ShellRun, 'workspace'> {
  readonly env: Environment;
  readonly readOnly: readonly string[];
}

export interface ProcessShell extends Pick<Shell, 'kind' | 'guidance' | 'describe'> {
  readonly launch: (command: string, run: LaunchOptions) => Launch;
}

/** From SIGTERM to SIGKILL (E-536). */
const graceMs = 500;

export function createProcessShell(parts: ShellParts, { launch, ...shell }: ProcessShell): Shell {
  const { clock, random } = parts;
  return {
    ...shell,
    async run(command, { workspace, env, readOnly = [], ...options }) {
      const { role = 'work', ...launched } = launch(command, { workspace, env: env ?? {}, readOnly });
      const reported: Uint8Array[] = [];
      const result = await runProcess({
        ...options,
        ...launched,
        clock,
        graceMs,
        role,
        cwd: workspace,
        env: childEnvironment(parts.environment, { ...quiet, ...launched.env, ...env }),
        marker: `${parts.marker}.${random.token()}`,
        ...(role === 'supervisor' ? { report: 'pipe', onReport: (chunk) => void reported.push(chunk) } : {}),
      });
      if (role === 'work') return result;
      return { ...result, leftBehind: Buffer.concat(reported).toString().split('\n').filter(Boolean) };
    },
  };
}

/** Nobody is there to turn pages or to type a password. */
const quiet: Environment = { PAGER: 'cat', GIT_PAGER: 'cat', GIT_TERMINAL_PROMPT: '0' };
