import { chooseShell, type ShellSetting } from './engine/shell/choose-shell.ts';
import { hostEnvironment } from './config.ts';
import type { Clock } from './core/clock.ts';
import type { Random } from './core/random.ts';
import type { Shell, ShellNetwork } from './engine/shell/shell.ts';

export interface ShellOptions {
  /** `auto`: a sandbox where there is one, else an interpreted shell; never the host's own (absent: `auto`). */
  readonly kind?: ShellSetting;
  /** Absent: `full`. */
  readonly network?: ShellNetwork;
  /** Absolute paths that no sandboxed command may see. */
  readonly hidden?: readonly string[];
}

/** The shell of these options; null: there is to be none. @throws ConfigurationError  It cannot be had here. */
export function openShell(
  { kind = 'auto', network = 'full', hidden = [] }: ShellOptions,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<Shell | null> {
  const marker = `reins-${random.token().slice(0, 12)}`;
  return chooseShell(kind, { clock, random, environment: hostEnvironment(), marker, network, hidden });
}
