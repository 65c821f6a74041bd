import { createRpcPeer, RpcError, type RpcPeer, type RpcRequest } from '../foreign/rpc-peer.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { objectIn, textIn } from './fields.ts';
import { runtimeEnvironment, startLineProcess, type LineProcess } from '../foreign/line-process.ts';
import { RuntimeFault, type OpenNative } from '../foreign/runtime.ts';
import { threadSettings, type ThreadChoices } from './thread-settings.ts';
import { within } from '../../core/within.ts';
import type { Environment } from '../../process/child-environment.ts';

export interface CodexListener {
  /** Answers it, now or later; false: it is none that is known. */
  onRequest(request: RpcRequest): boolean;
  onNotification(method: string, params: JsonObject): void;
}

export interface CodexConnection {
  readonly process: LineProcess;
  readonly peer: RpcPeer;
  readonly threadId: string;
  readonly resumed: boolean;
  /** From the first on; what came before is told at once. */
  listen(listener: CodexListener): void;
}

export interface StartOptions extends ThreadChoices {
  readonly open: OpenNative;
  /** Absolute path. */
  readonly program: string;
  readonly host: Environment;
}

const handshakeMs = 30_000;
const resumeMs = 20_000;

export function codexEnvironment(host: Environment, { home, temporary }: Pick<OpenNative, 'home' | 'temporary'>) {
  const own = { CODEX_HOME: home, RUST_LOG: 'error', NO_COLOR: '1' };
  return runtimeEnvironment(host, { home, temporary, own });
}

/** @throws RuntimeFault  It cannot work; nothing of it is left. */
export async function startCodex({ open, program, host, ...choices }: StartOptions): Promise<CodexConnection> {
  const { clock, workspace: cwd, marker } = open;
  let line: LineProcess | null = null;
  let listener: CodexListener | null = null;
  const early: (readonly [method: string, params: JsonObject])[] = [];
  const peer = createRpcPeer({
    send: (value) => line?.send(value),
    onRequest: (request) => listener?.onRequest(request) ?? false,
    onNotification: (...told) => (listener === null ? void early.push(told) : listener.onNotification(...told)),
  });
  const process = await startLineProcess({
    clock,
    label: 'Codex',
    program,
    args: ['app-server'],
    cwd,
    env: { ...codexEnvironment(host, open), PWD: cwd },
    marker,
    secrets: [open.lease.token],
    onValue: (value) => peer.receive(value),
  });
  line = process;
  const gone = process.gone.then(({ how }) => peer.close(`It ${how}.`));
  try {
    const thread = await beforeDeadline(openThread(peer, open, choices), { open, ms: handshakeMs });
    return {
      ...thread,
      process,
      peer,
      listen(heard) {
        listener = heard;
        for (const told of early.splice(0)) heard.onNotification(...told);
      },
    };
  } catch (cause) {
    await process.stop();
    await gone;
    const diagnostics = process.diagnostics();
    open.logger.error('Codex could not be opened.', { diagnostics }, cause);
    throw cause instanceof RuntimeFault ? cause : unavailable('Codex did not open a session.', cause);
  }
}

function unavailable(message: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault({ type: 'AgentUnavailableError', message, retryable: true }, { cause });
}

async function beforeDeadline<T>(work: Promise<T>, { open, ms }: { open: OpenNative; ms: number }): Promise<T> {
  const { clock, signal } = open;
  await within(work, { clock, ms, signal });
  const why = signal.aborted ? 'was stopped while it started' : `did not answer within ${ms / 1_000} s`;
  return await Promise.race([work, Promise.reject(unavailable(`Codex ${why}.`))]);
}

async function openThread(peer: RpcPeer, open: OpenNative, choices: ThreadChoices) {
  const hello = await peer.request('initialize', {
    clientInfo: { name: 'reins', title: 'Reins', version: '1' },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  peer.notify('initialized', {});
  if (open.skillFolders.length > 0) await peer.request('skills/extraRoots/set', { extraRoots: open.skillFolders });
  const settings = threadSettings(open, choices);
  const old = open.resume === null ? null : await resumeThread(peer, open, settings);
  const threadId = old ?? threadIn(await peer.request('thread/start', settings));
  const version = /^reins\/(\S+)/.exec(textIn(asObject(hello), 'userAgent') ?? '')?.[1] ?? null;
  await open.remember({ nativeId: threadId, version });
  return { threadId, resumed: old !== null };
}

/** Null: Codex has it no more, or cannot go on from it (H-071). */
async function resumeThread(peer: RpcPeer, open: OpenNative, settings: JsonObject): Promise<string | null> {
  try {
    const threadId = open.resume?.nativeId ?? '';
    const answered = peer.request('thread/resume', { ...settings, threadId, excludeTurns: true });
    return threadIn(await beforeDeadline(answered, { open, ms: resumeMs }));
  } catch (cause) {
    if (!(cause instanceof RpcError) && !(cause instanceof RuntimeFault)) throw cause;
    open.logger.warn('Codex could not resume its thread.', { cause: cause.message });
    return null;
  }
}

function threadIn(answer: JsonValue): string {
  const id = textIn(objectIn(asObject(answer), 'thread'), 'id');
  if (id === null) throw unavailable('Codex opened a session without a name.');
  return id;
}

export function asObject(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : {};
}
