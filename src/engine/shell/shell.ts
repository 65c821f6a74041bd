import type { Clock } from '../../core/clock.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { ProcessResult } from '../../process/run-process.ts';
import type { Random } from '../../core/random.ts';

export type ShellKind = 'sandboxed' | 'interpreted' | 'host';

/** What runs the commands of a model. One command at a time in a workspace; nothing of it is left when `run` resolves. */
export interface Shell {
  readonly kind: ShellKind;
  /** What a command can and cannot do here, for the model. */
  readonly guidance: string;
  /** One line for the operator. */
  describe(): string;
  /** @throws ProcessStartError  Nothing was run. */
  run(command: string, options: ShellRun): Promise<ProcessResult>;
}

export interface ShellRun {
  /** Absolute path. */
  readonly workspace: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Variables for this command beside those that every command sees. */
  readonly env?: Environment;
  /** Folders that a sandboxed command sees, too, without writing them: absolute paths without links. */
  readonly readOnly?: readonly string[];
  /** stdout and stderr in the order in which they come. Must not throw. */
  readonly onOutput: (chunk: Uint8Array) => void;
}

export interface ShellParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Ours; a command sees only what `childEnvironment` lets through. */
  readonly environment: Environment;
  /** Begins the tree marker of every command, so that `stopTree` finds what a crashed server left behind (H-065). */
  readonly marker: string;
  readonly network: ShellNetwork;
  /** Absolute paths that no sandboxed command may see beside the credentials of the home: the data folder above all. */
  readonly hidden: readonly string[];
}

/**
 * `full`: as on this machine, with its loopback and its local network. It is the default because most of what people ask
 * of a shell fetches something (packages, repositories, pages), and a command that cannot says so in ways that neither
 * model nor user understand. What a command could carry away is what it can read, so credentials are hidden instead.
 * An operator who serves strangers sets `none`.
 */
export type ShellNetwork = 'none' | 'full';
