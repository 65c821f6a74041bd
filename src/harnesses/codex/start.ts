import { createRpcPeer, RpcError, type RpcPeer, type RpcRequest } from '../foreign/rpc-peer.ts';
import { launch, resumeMs, shakeHands, unavailable, wholeStartMs, type Within } from '../foreign/start-step.ts';
import { objectOf, textOf, wordOf } from '../foreign/fields.ts';
import { runtimeEnvironment, type LineProcess } from '../foreign/line-process.ts';
import { RuntimeFault, type OpenNative } from '../foreign/runtime.ts';
import { threadSettings, type ThreadChoices } from './thread-settings.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';

export interface CodexListener {
  /** Answers it, now or later; false: it is none that is known. */
  onRequest(request: RpcRequest): boolean;
  onNotification(method: string, params: JsonObject): void;
}

export interface CodexConnection {
  readonly process: LineProcess;
  readonly peer: RpcPeer;
  readonly threadId: string;
  readonly version: string | null;
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

const label = 'Codex';

export function codexEnvironment(host: Environment, { home, temporary }: Pick<OpenNative, 'home' | 'temporary'>) {
  const own = { CODEX_HOME: home, RUST_LOG: 'error', NO_COLOR: '1' };
  return runtimeEnvironment(host, { home, temporary, own });
}

/** @throws RuntimeFault  It cannot work; nothing of it is left. */
export async function startCodex({ open, program, host, ...choices }: StartOptions): Promise<CodexConnection> {
  let line: LineProcess | null = null;
  let listener: CodexListener | null = null;
  const early: (readonly [method: string, params: JsonObject])[] = [];
  const peer = createRpcPeer({
    send: (value) => line?.send(value),
    onRequest: (request) => listener?.onRequest(request) ?? false,
    onNotification: (...told) => (listener === null ? void early.push(told) : listener.onNotification(...told)),
  });
  const process = await launch(open, {
    label,
    program,
    args: ['app-server'],
    env: { ...codexEnvironment(host, open), PWD: open.workspace },
    onValue: (value) => peer.receive(value),
  });
  line = process;
  void process.gone.then(({ how }) => peer.close(`It ${how}.`));
  const thread = await shakeHands({ label, process, options: open }, (within) =>
    openThread({ peer, within, open }, choices),
  );
  return {
    ...thread,
    process,
    peer,
    listen(heard) {
      listener = heard;
      for (const told of early.splice(0)) heard.onNotification(...told);
    },
  };
}

interface Opening {
  readonly peer: RpcPeer;
  readonly within: Within;
  readonly open: OpenNative;
}

async function openThread({ peer, within, open }: Opening, choices: ThreadChoices) {
  const ask = (method: string, params: JsonObject) => within(wholeStartMs, peer.request(method, params));
  const hello = await ask('initialize', {
    clientInfo: { name: 'reins', title: 'Reins', version: '1' },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  peer.notify('initialized', {});
  if (open.skillFolders.length > 0) await ask('skills/extraRoots/set', { extraRoots: open.skillFolders });
  const settings = threadSettings(open, choices);
  const old = open.resume === null ? null : await resumeThread({ peer, within, open }, settings);
  const threadId = old ?? threadIn(await ask('thread/start', settings));
  const version = /^reins\/(\S+)/.exec(textOf(objectOf(hello)['userAgent']))?.[1] ?? null;
  await open.remember({ nativeId: threadId, version });
  return { threadId, version, resumed: old !== null };
}

/** Null: Codex has it no more, or cannot go on from it (H-071). */
async function resumeThread({ peer, within, open }: Opening, settings: JsonObject): Promise<string | null> {
  try {
    const threadId = open.resume?.nativeId ?? '';
    const answered = peer.request('thread/resume', { ...settings, threadId, excludeTurns: true });
    return threadIn(await within(resumeMs, answered));
  } catch (cause) {
    if (!(cause instanceof RpcError) && !(cause instanceof RuntimeFault)) throw cause;
    open.logger.warn('Codex could not resume its thread.', { cause: cause.message });
    return null;
  }
}

function threadIn(answer: JsonValue): string {
  const id = wordOf(objectOf(objectOf(answer)['thread'])['id']);
  if (id === null) throw unavailable('Codex opened a session without a name.');
  return id;
}
