// From a program's path to a session that takes prompts.
//
// A1. Whatever goes wrong, nothing is left behind, and why is said in a sentence that is safe to show (B145, H-136).
// A2. A session that cannot be gone on with is begun anew, and says so by `resumed` (H-071).

import { argumentsOf, environmentOf, initializeRequest, placeSkills } from './launch.ts';
import { ClaudeCodeSession } from './control.ts';
import { createControlPeer, type ControlPeer } from './control-peer.ts';
import { glob } from 'node:fs/promises';
import { RuntimeFault, type NativeSession, type OpenNative } from '../foreign/runtime.ts';
import { sleep } from '../../core/clock.ts';
import { startLineProcess, type LineProcess } from '../foreign/line-process.ts';
import { textOf } from './fields.ts';
import { uuidOf } from './uuid-of.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { ErrorInfo, RunErrorType } from '../../core/outcome.ts';
import type { JsonObject } from '../../core/json.ts';

export interface StartParts {
  /** Absolute path. */
  readonly program: string;
  readonly host: Environment;
}

interface NativeId {
  readonly id: string;
  readonly resume: boolean;
}

const handshakeMs = 30_000;
const resumeMs = 20_000;

/** @throws RuntimeFault */
export async function startClaudeCode(parts: StartParts, options: OpenNative): Promise<NativeSession> {
  const { resume, logger, random } = options;
  if (resume !== null && (await hasTranscript(options.home, resume.nativeId))) {
    try {
      return await startOnce(parts, options, { id: resume.nativeId, resume: true });
    } catch (cause) {
      if (options.signal.aborted || !(cause instanceof RuntimeFault)) throw cause;
      logger.warn('Claude Code did not resume its session; a new one is begun.', { why: cause.message });
    }
  }
  return startOnce(parts, options, { id: uuidOf(random), resume: false });
}

/** Where the program keeps what was said. */
async function hasTranscript(home: string, id: string): Promise<boolean> {
  if (!/^[\w-]+$/.test(id)) return false;
  for await (const _ of glob(`projects/*/${id}.jsonl`, { cwd: home })) return true;
  return false;
}

async function startOnce(parts: StartParts, options: OpenNative, native: NativeId): Promise<NativeSession> {
  const { clock, marker, workspace } = options;
  const plugin = await placeSkills(options);
  const open: { session?: ClaudeCodeSession } = {};
  const peer = createControlPeer({
    send: (value) => line.send(value),
    onMessage: (message) => open.session?.receive(message),
  });
  const line = await startLineProcess({
    clock,
    label: 'Claude Code',
    program: parts.program,
    args: argumentsOf(options, native),
    cwd: workspace,
    env: environmentOf(parts.host, options),
    marker,
    secrets: [options.lease.token],
    onValue: (value) => peer.receive(value),
  });
  try {
    const told = await shakeHands({ line, peer, native }, initializeRequest(options, plugin), options);
    open.session = new ClaudeCodeSession({ line, peer, options, resumed: native.resume });
    await options.remember({ nativeId: native.id, version: textOf(told['claude_code_version']) });
    return open.session;
  } catch (cause) {
    await line.stop();
    throw cause;
  }
}

async function shakeHands(
  { line, peer, native }: { readonly line: LineProcess; readonly peer: ControlPeer; readonly native: NativeId },
  request: JsonObject,
  { clock, signal, logger }: OpenNative,
): Promise<JsonObject> {
  const over = new AbortController();
  const until = AbortSignal.any([over.signal, signal]);
  const answered = peer.request(request).then(
    (told) => ({ told }),
    () => ({ how: 'refused how it was set up' }),
  );
  const late = sleep(clock, native.resume ? resumeMs : handshakeMs, until).then(() => ({
    how: 'did not answer in time',
  }));
  const first = await Promise.race([answered, line.gone, late]);
  over.abort();
  if ('told' in first) return first.told;
  const said = line.diagnostics();
  logger.warn('Claude Code did not start.', { how: first.how, said });
  if (signal.aborted) throw fault('HarnessError', 'Claude Code was stopped while it started.');
  throw fault('AgentUnavailableError', `Claude Code ${first.how} when it was started${knownCause(said)}.`);
}

function knownCause(said: string): string {
  const found = causes.find(([words]) => words.test(said));
  return found === undefined ? '' : `: ${found[1]}`;
}

const causes = [
  [/root\/sudo/, 'it does not run as root in this mode'],
  [/No conversation found/, 'it does not know the session any more'],
  [/is already in use/, 'its session is in use by another process'],
  [/unknown option/, 'this version does not know an option that it needs'],
] as const;

const fault = (type: RunErrorType, message: string): RuntimeFault =>
  new RuntimeFault({ type, message, retryable: false } satisfies ErrorInfo);
