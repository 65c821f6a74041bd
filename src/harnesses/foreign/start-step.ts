// What the starts of all runtimes that are processes have in common.
//
// S1. Whatever goes wrong, nothing is left behind, and why is said in a sentence that is safe to show (B145, H-136).
// S2. No step goes beyond its time, the end of the process, or the wish to start it, which ends with the time for all of it.
// S3. A session that cannot be gone on with is begun anew, and says so by `resumed` (H-071).

import { PeerGone } from './pending-answers.ts';
import { RuntimeFault, type OpenNative, type ProgramStatus } from './runtime.ts';
import { sleep } from '../../core/clock.ts';
import { startLineProcess, type LineProcess, type LineProcessOptions } from './line-process.ts';

/** Any step may take what the whole start may, whose signal ends it (H-110): longer than anybody sets that. */
export const wholeStartMs = 86_400_000;
/** But for a resume, so that time is left to begin anew. */
export const resumeMs = 20_000;

export function unavailable(message: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault({ type: 'AgentUnavailableError', message, retryable: false }, { cause });
}

/** The program of a runtime that can be started. @throws RuntimeFault */
export function programOf({ path, problem }: ProgramStatus, label: string): string {
  if (path === null || problem !== null) throw unavailable(problem?.message ?? `${label} is not installed.`);
  return path;
}

/** Starts the process of a session in its workspace. @throws RuntimeFault */
export function launch(
  { clock, workspace: cwd, marker, lease }: OpenNative,
  how: Pick<LineProcessOptions, 'label' | 'program' | 'args' | 'env' | 'onValue'>,
): Promise<LineProcess> {
  return startLineProcess({ ...how, clock, cwd, marker, secrets: [lease.token] });
}

/** S3. */
export async function resumeOrBegin<T>(
  label: string,
  options: OpenNative,
  start: (options: OpenNative) => Promise<T>,
): Promise<T> {
  try {
    return await start(options);
  } catch (cause) {
    if (options.resume === null || options.signal.aborted || !(cause instanceof RuntimeFault)) throw cause;
    options.logger.warn('An agent did not resume its session; a new one is begun.', { label, why: cause.message });
    return start({ ...options, resume: null });
  }
}

/** A step of the start, within its time. */
export type Within = <T>(ms: number, work: Promise<T>) => Promise<T>;

export interface HandshakeOptions {
  readonly label: string;
  readonly process: LineProcess;
  readonly options: Pick<OpenNative, 'clock' | 'signal' | 'logger'>;
  /** What its diagnostics say of its end, as the end of a sentence; absent: nothing that anybody could use. */
  readonly causeIn?: (diagnostics: string) => string;
}

/** From a process to a session; after a failure the process is gone (S1). @throws RuntimeFault */
export async function shakeHands<T>(of: HandshakeOptions, work: (within: Within) => Promise<T>): Promise<T> {
  const { label, process, options } = of;
  try {
    return await work(stepsOf(of));
  } catch (cause) {
    await process.stop();
    options.logger.warn('An agent did not start.', { label, cause: String(cause), diagnostics: process.diagnostics() });
    throw cause instanceof RuntimeFault ? cause : unavailable(`${label} was not ready for work.`, cause);
  }
}

/** S2. */
function stepsOf({ label, process, options: { clock, signal }, causeIn }: HandshakeOptions): Within {
  const gone = process.gone.then(({ how }) => {
    throw unavailable(`${label} ${how} before it was ready${causeIn?.(process.diagnostics()) ?? ''}.`);
  });
  gone.catch(() => undefined);
  return async (ms, work) => {
    const settled = new AbortController();
    const late = sleep(clock, ms, AbortSignal.any([signal, settled.signal])).then((): never => {
      const why = signal.aborted
        ? `The start of ${label} was stopped.`
        : `${label} was not ready within ${ms / 1_000} s.`;
      throw unavailable(why);
    });
    late.catch(() => undefined);
    // Whoever is gone has closed the peer as well; the sentence of the former is the better one.
    const done = work.catch((cause: unknown) => (cause instanceof PeerGone ? gone : Promise.reject(cause)));
    try {
      return await Promise.race([gone, done, late]);
    } finally {
      settled.abort();
    }
  };
}
