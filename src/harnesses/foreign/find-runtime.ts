import { join } from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { accessSync, constants, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { findProgram } from '../../process/find-program.ts';
import { keepEnds } from '../../process/keep-ends.ts';
import { lacksInterpreter } from '../../process/lacks-interpreter.ts';
import { ProcessStartError } from '../../process/start-process.ts';
import { runProcess } from '../../process/run-process.ts';
import type { Clock } from '../../core/clock.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { ProgramStatus } from './runtime.ts';

export interface FindOptions {
  readonly clock: Clock;
  readonly label: string;
  /** Name on the path, where the operator set no path of its own. */
  readonly name: string;
  /** As the operator set it, absolute; null: as found on the path. */
  readonly path: string | null;
  readonly host: Environment;
  readonly marker: string;
  /** How the file is run; absent: it is a program itself. */
  readonly commandOf?: (path: string) => { readonly program: string; readonly args: readonly string[] };
  /** Arguments before the runtime's own, as the file that an interpreter runs. */
  readonly versionArgs: readonly string[];
  /** Variables of its own, such as one that keeps it from writing. */
  readonly env?: Environment;
  /** The version in what it prints; null: it is none of its kind. */
  versionIn(text: string): string | null;
  /** Versions with which the contract's suite has passed. */
  readonly tried: readonly string[];
  /** One command. */
  readonly install: string;
}

const probeMs = 10_000;
const keptMs = 60_000;

/**
 * What is known of a program, kept for a minute as long as its file stays the same (H-010). One that worked works on where it is
 * asked again and the machine is too busy for an answer; and no answer is nothing to keep.
 */
export function createFinder(options: FindOptions): () => Promise<ProgramStatus> {
  let known: { readonly key: string; readonly atMs: number; readonly status: Promise<ProgramStatus> } | null = null;
  let worked: { readonly key: string; readonly status: ProgramStatus } | null = null;
  const lookAgain = async (path: string, key: string) => {
    const now = await look(path, options);
    if (now.problem === null) worked = { key, status: now };
    if (now.problem?.code !== 'timeout') return now;
    known = null;
    return worked?.key === key ? worked.status : now;
  };
  return () => {
    const path = options.path ?? findProgram(options.name, options.host['PATH']);
    const file = path === null ? undefined : statSync(path, { throwIfNoEntry: false });
    const key = `${path}:${file?.mtimeMs ?? 'none'}`;
    const nowMs = options.clock.now();
    if (known?.key === key && nowMs - known.atMs < keptMs) return known.status;
    const found =
      file?.isFile() === true && path !== null ? lookAgain(path, key) : Promise.resolve(missing(path, options));
    known = { key, atMs: nowMs, status: found };
    return found;
  };
}

function missing(path: string | null, { label, install }: FindOptions): ProgramStatus {
  const where = path === null ? 'is not installed' : `is not at ${path}`;
  return status(path, { code: 'not-installed', message: `${label} ${where}: ${install}` });
}

function status(path: string | null, problem: NonNullable<ProgramStatus['problem']>): ProgramStatus {
  return { installed: false, path, version: null, versionTried: false, problem };
}

/** Why a file that is there cannot be a runtime; null: it may be one. */
export function unfitProgram(path: string): string | null {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return `${path} may not be executed by this user.`;
  }
  return lacksInterpreter(path) ? `${path} is a text file whose first line names no program to run it (#!…).` : null;
}

async function look(path: string, options: FindOptions): Promise<ProgramStatus> {
  const { label, versionArgs, host, clock, marker } = options;
  const { program, args } = options.commandOf?.(path) ?? { program: path, args: [] };
  const unfit = unfitProgram(program);
  if (unfit !== null) return status(path, { code: 'not-executable', message: unfit });
  const output = keepEnds(4_096);
  // Some make a home for themselves only to tell their version.
  const home = await mkdtemp(join(tmpdir(), 'reins-probe-'));
  const fault = (code: string, message: string) => status(path, { code, message });
  try {
    const { end } = await runProcess({
      clock,
      program,
      args: [...args, ...versionArgs],
      cwd: '/',
      env: { PATH: host['PATH'], LANG: host['LANG'], HOME: home, TMPDIR: home, TERM: 'dumb', ...options.env },
      marker,
      signal: new AbortController().signal,
      timeoutMs: probeMs,
      graceMs: 0,
      onOutput: (chunk) => output.add(chunk),
    });
    if (end.how === 'timed-out') return fault('timeout', `${label} at ${path} did not tell its version within 10 s.`);
    const version = options.versionIn(output.text());
    if (version === null) return fault('start-failed', `${path} does not say that it is ${label}.`);
    return { installed: true, path, version, versionTried: options.tried.includes(version), problem: null };
  } catch (cause) {
    if (!(cause instanceof ProcessStartError)) throw cause;
    return fault('start-failed', `${label} at ${path} cannot be started: ${cause.message}`);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
