import { startProcess, type ProcessExit, type ProcessOptions } from './start-process.ts';
import { stopTree } from './stop-tree.ts';

export interface RunOptions extends Omit<ProcessOptions, 'stdin' | 'output'> {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** From SIGTERM to SIGKILL when it is stopped. */
  readonly graceMs: number;
  /** stdout and stderr as they come. Contract: must not throw. */
  readonly onOutput: (chunk: Uint8Array) => void;
  readonly onReport?: (chunk: Uint8Array) => void;
}

export type ProcessEnd = ProcessExit | { readonly how: 'timed-out' } | { readonly how: 'cancelled' };

export interface ProcessResult {
  readonly end: ProcessEnd;
  /** Names of processes that outlived the program's own end and were stopped. */
  readonly leftBehind: readonly string[];
  /** What could not be stopped, in words (E-817). */
  readonly unstopped: readonly string[];
}

/**
 * Runs a program to its end, deadline or abort. Nothing that it started is running when this resolves, but for what
 * `unstopped` names.
 * @throws ProcessStartError
 */
export async function runProcess(options: RunOptions): Promise<ProcessResult> {
  const { clock, signal, graceMs, onOutput, onReport = () => {} } = options;
  if (signal.aborted) return { end: { how: 'cancelled' }, leftBehind: [], unstopped: [] };
  using process = await startProcess({ ...options, stdin: 'empty', output: 'joined' });
  const read = Promise.all([forEach(process.stdout, onOutput), forEach(process.report, onReport)]);
  read.catch(() => {}); // heard below, when the process is gone
  using stop = stopRequest(options);
  const end = await Promise.race([process.exited, stop.asked]);
  const { found, unstopped } = await stopTree(process.tree, { clock, graceMs });
  if (unstopped.length > 0) process[Symbol.dispose](); // of what nothing stops, no more is read
  await read;
  return { end, leftBehind: end.how === 'exited' || end.how === 'signalled' ? found : [], unstopped };
}

async function forEach(chunks: AsyncIterable<Uint8Array>, take: (chunk: Uint8Array) => void): Promise<void> {
  for await (const chunk of chunks) take(chunk);
}

/** Resolves when the process is to be stopped; it does not reject, and leaves no listener or timer behind. */
function stopRequest({ clock, signal, timeoutMs }: RunOptions): Disposable & { readonly asked: Promise<ProcessEnd> } {
  const { promise, resolve } = Promise.withResolvers<ProcessEnd>();
  const cancel = () => resolve({ how: 'cancelled' });
  const cancelTimer = clock.timer(timeoutMs, () => resolve({ how: 'timed-out' }));
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel);
  return {
    asked: promise,
    [Symbol.dispose]() {
      cancelTimer();
      signal.removeEventListener('abort', cancel);
    },
  };
}
