import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const root = fileURLToPath(new URL('..', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ReinsProcess {
  readonly child: ChildProcess;
  /** Resolves with all that `stdout` or `stderr` said so far, as soon as that contains `text`; rejects when the process ends first. */
  saw(text: string): Promise<string>;
  readonly ended: Promise<Ended>;
}

export interface ReinsOptions {
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
}

/** The real command in a bare environment: no key of the machine reaches it. */
export function startReins(args: readonly string[], options: ReinsOptions = {}): ReinsProcess {
  return startProgram(`${root}bin/reins.js`, args, options);
}

/** Another program in the same. */
export function startProgram(
  program: string,
  args: readonly string[],
  { node = process.execPath, env = {}, input, cwd }: ReinsOptions = {},
): ReinsProcess {
  const child = spawn(node, [program, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...env },
    cwd: cwd ?? root,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text) => (said[name] += text));
  if (input !== undefined) child.stdin.end(input);
  // A test that failed half-way leaves nothing running.
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...said }));
  return {
    child,
    ended,
    saw: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = [said.stdout, said.stderr].find((whole) => whole.includes(text));
          if (found !== undefined) resolve(found);
        };
        child.stdout.on('data', look);
        child.stderr.on('data', look);
        void ended.then(() => reject(new Error(`It ended without saying '${text}': ${JSON.stringify(said)}`)));
        look();
      }),
  };
}

export function reins(args: readonly string[], options: ReinsOptions = {}): Promise<Ended> {
  return startReins(args, { input: '', ...options }).ended;
}

/** An empty folder that is gone when the test is. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reins-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
