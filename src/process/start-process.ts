// Starts a child process; nothing else in Reins does.
//
// S1. A child leads its own session and group, runs without a shell, and sees exactly `env`, `PWD` and the marker of its
//     tree (H-130, H-132).
// S2. Output is read for as long as the child lives. After its exit what it wrote is read to the end, however slow the
//     reader (B138); a process left behind that holds the pipe open is waited for only a moment.
// S3. A child that cannot be started rejects with its reason; later trouble of its streams never throws from nowhere.

import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Readable, type Writable } from 'node:stream';
import { ReinsError } from '../core/errors.ts';
import { sleep, type Clock } from '../core/clock.ts';
import { treeVariable, type Environment } from './child-environment.ts';
import { openJoinedPipe, type JoinedPipe } from './joined-pipe.ts';
import { rootOf, type ProcessRoot, type ProcessTree } from './process-tree.ts';

export interface ProcessOptions {
  readonly clock: Clock;
  /** Absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** All that the child sees; see `childEnvironment`. */
  readonly env: Environment;
  /** Unguessable, one for each start; see `ProcessTree`. */
  readonly marker: string;
  readonly role?: ProcessRoot['role'];
  /** Default: empty. */
  readonly stdin?: 'empty' | 'pipe';
  /** Default: separate. `joined`: all is stdout, in the order in which it was written. */
  readonly output?: 'separate' | 'joined';
  /** Gives the child descriptor 3 to report on. */
  readonly report?: 'pipe';
}

export type ProcessExit =
  | { readonly how: 'exited'; readonly code: number }
  | { readonly how: 'signalled'; readonly signal: NodeJS.Signals };

/** Disposing lets go of its streams; it stops nothing (see `stopTree`). */
export interface RunningProcess extends Disposable {
  readonly tree: ProcessTree;
  /** Null without `stdin: 'pipe'`. A child that is gone makes writes fail through their callbacks only (H-123). */
  readonly stdin: Writable | null;
  /** Each may be read once, and must be: a full pipe stops the child. */
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  readonly report: AsyncIterable<Uint8Array>;
  readonly exited: Promise<ProcessExit>;
}

export type StartFault = 'not-found' | 'not-permitted' | 'no-folder' | 'too-long' | 'other';

/** A process that could not be started. `fault` tells the reasons apart (B140). */
export class ProcessStartError extends ReinsError {
  readonly fault: StartFault;
  readonly program: string;
  constructor(fault: StartFault, program: string, cause: unknown) {
    super(`A program could not be started: ${startFaults[fault]}.`, { cause });
    this.fault = fault;
    this.program = program;
  }
}

const startFaults: Record<StartFault, string> = {
  'not-found': 'it is not installed',
  'not-permitted': 'it may not be executed',
  'no-folder': 'its working directory is gone',
  'too-long': 'its arguments are too long for the system',
  other: 'the system refused',
};

/** @throws ProcessStartError */
export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  const joined = options.output === 'joined' ? await openPipe(options) : null;
  try {
    using _writer = joined;
    const child = spawnChild(options, joined?.writer ?? 'pipe');
    const root = child.pid === undefined ? null : rootOf(child.pid, options.role ?? 'work');
    const exited = new Promise<ProcessExit>((resolve) => {
      child.once('exit', (code, signal) =>
        resolve(signal === null ? { how: 'exited', code: code ?? 0 } : { how: 'signalled', signal }),
      );
    });
    await new Promise((resolve, reject) => child.once('spawn', resolve).on('error', reject));
    return running(child, { joined, exited, tree: { marker: options.marker, root }, clock: options.clock });
  } catch (cause) {
    joined?.reader.destroy();
    throw new ProcessStartError(faultOf(cause, options.cwd), options.program, cause);
  }
}

function openPipe({ env, program }: ProcessOptions): Promise<JoinedPipe> {
  return openJoinedPipe(env).catch((cause: unknown) => {
    throw new ProcessStartError('other', program, cause);
  });
}

function spawnChild(
  { program, args, cwd, env, marker, stdin, report }: ProcessOptions,
  output: number | 'pipe',
): ChildProcess {
  const markers = [env[treeVariable], marker].filter((each) => each !== undefined).join(',');
  return spawn(program, args, {
    cwd,
    env: { ...env, PWD: cwd, [treeVariable]: markers },
    detached: true,
    stdio: [stdin === 'pipe' ? 'pipe' : 'ignore', output, output, ...(report === 'pipe' ? [report] : [])],
  });
}

function running(
  child: ChildProcess,
  {
    joined,
    exited,
    tree,
    clock,
  }: Pick<RunningProcess, 'tree' | 'exited'> & { joined: JoinedPipe | null; clock: Clock },
): RunningProcess {
  const streams = { stdout: joined?.reader ?? child.stdout, stderr: child.stderr, report: child.stdio[3] };
  const read = (stream: unknown) => (stream instanceof Readable ? readUntilDrained(stream, exited, clock) : nothing());
  child.stdin?.on('error', () => {}); // the callback of the write tells (S3)
  return {
    tree,
    stdin: child.stdin,
    stdout: read(streams.stdout),
    stderr: read(streams.stderr),
    report: read(streams.report),
    exited,
    [Symbol.dispose]() {
      for (const stream of [child.stdin, ...Object.values(streams)]) stream?.destroy();
      child.unref();
    },
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

const drainMs = 500;
const tickMs = 50;

/** The bytes of a stream to its end or, once the process is gone, until the reader has waited for more in vain (S2). */
async function* readUntilDrained(stream: Readable, exited: Promise<unknown>, clock: Clock): AsyncGenerator<Uint8Array> {
  const reading = { isWaiting: true };
  const ended = new AbortController();
  const giveUp = async () => {
    await exited;
    for (let leftMs = drainMs; leftMs > 0 && !ended.signal.aborted;) {
      await sleep(clock, tickMs, ended.signal);
      if (reading.isWaiting) leftMs -= tickMs; // a slow reader is not charged: what it has not read is not lost
    }
    stream.destroy();
  };
  void giveUp(); // cannot reject
  try {
    for await (const chunk of stream) {
      reading.isWaiting = false;
      yield chunk;
      reading.isWaiting = true;
    }
  } catch (error) {
    if (!stream.destroyed || stream.errored !== null) throw error; // else it was given up, here or by `dispose`
  } finally {
    ended.abort();
  }
}

function faultOf(cause: unknown, cwd: string): StartFault {
  switch (cause instanceof Error && 'code' in cause ? cause.code : undefined) {
    case 'ENOENT':
      return existsSync(cwd) ? 'not-found' : 'no-folder';
    case 'ENOTDIR':
      return 'no-folder';
    case 'EACCES':
    case 'EPERM':
      return 'not-permitted';
    case 'E2BIG':
      return 'too-long';
    default:
      return 'other';
  }
}
