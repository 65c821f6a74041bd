// Starts an agent that speaks ACP, and gives it out when it has a session: one that it was given, or a new one (H-071).

import { createRpcPeer, RpcError, type RpcHandlers, type RpcPeer } from '../foreign/rpc-peer.ts';
import { objectOf, textOf } from './fields.ts';
import { RuntimeFault, type NativeState, type OpenNative, type ResolvedMcpServer } from '../foreign/runtime.ts';
import { sleep } from '../../core/clock.ts';
import { startLineProcess, type LineProcess } from '../foreign/line-process.ts';
import type { AcpLaunch, AcpProfile } from './acp-profile.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';

export interface StartedAcp {
  readonly process: LineProcess;
  readonly peer: RpcPeer;
  readonly nativeId: string;
  readonly version: string | null;
  readonly resumed: boolean;
  /** What it said of itself. */
  readonly abilities: JsonObject;
  readonly foreword: string | null;
  /** MCP servers that it has no transport for, by name. */
  readonly missingServers: readonly string[];
  listen(handlers: Pick<RpcHandlers, 'onRequest' | 'onNotification'>): void;
}

type Launched = Pick<StartedAcp, 'process' | 'peer' | 'listen'>;

const handshakeMs = 30_000;
const resumeMs = 20_000;

/** @throws RuntimeFault  Nothing of it is left behind. */
export async function startAcp(profile: AcpProfile, path: string, options: OpenNative): Promise<StartedAcp> {
  const { resume, signal, logger } = options;
  try {
    return await startOnce(profile, path, options);
  } catch (cause) {
    if (resume === null || signal.aborted || !(cause instanceof RuntimeFault)) throw cause;
    logger.warn('An agent did not resume its session; a new one is begun.', { agent: profile.label });
    return startOnce(profile, path, { ...options, resume: null });
  }
}

async function startOnce(profile: AcpProfile, path: string, options: OpenNative): Promise<StartedAcp> {
  const { label } = profile;
  const launch = await profile.launch(options, path);
  const launched = await spawn(label, launch, options);
  const within = limited(label, launched.process, options);
  try {
    const answer = objectOf(await within(handshakeMs, launched.peer.request('initialize', introduction)));
    const version = textOf(objectOf(answer['agentInfo'])['version']) || null;
    const abilities = objectOf(answer['agentCapabilities']);
    const { servers, missing } = takenServers(launch.mcpServers, objectOf(abilities['mcpCapabilities']));
    const place = { cwd: options.workspace, mcpServers: servers };
    const old = options.resume;
    const isBack = old !== null && (await goOn(old));
    const nativeId = isBack ? old.nativeId : await begin();
    const lost = options.mcpServers.filter((each) => !launch.mcpServers.includes(each)).map(({ name }) => name);
    return {
      ...launched,
      nativeId,
      version,
      abilities,
      resumed: isBack,
      foreword: launch.foreword,
      missingServers: [...missing, ...lost],
    };

    async function begin(): Promise<string> {
      const session = objectOf(await within(handshakeMs, launched.peer.request('session/new', place)));
      await chooseModel(session, options.model, launched.peer);
      return textOf(session['sessionId']);
    }

    /** False: it knows nothing of that session. One that does not come to an end with it is of no use any more. */
    async function goOn({ nativeId: sessionId }: NativeState): Promise<boolean> {
      const method = resumeMethod(abilities);
      if (method === null) return false;
      await profile.beforeLoad?.(options.home, sessionId);
      const loading = launched.peer.request(method, { sessionId, ...place });
      return within(resumeMs, loading).then(
        () => true,
        (cause: unknown) => {
          if (cause instanceof RpcError) return false;
          throw cause;
        },
      );
    }
  } catch (cause) {
    await launched.process.stop();
    const diagnostics = launched.process.diagnostics();
    options.logger.warn('An agent did not start.', { agent: label, cause: String(cause), diagnostics });
    throw asFault(label, cause);
  }
}

async function spawn(label: string, { program, args, env }: AcpLaunch, options: OpenNative): Promise<Launched> {
  const { clock, workspace, marker, lease } = options;
  // Until a session listens, nothing is decided, and what is told is an old conversation.
  let handlers: Pick<RpcHandlers, 'onRequest' | 'onNotification'> = { onRequest: () => false, onNotification() {} };
  const peer = createRpcPeer({
    send: (value) => process.send(value),
    onRequest: (request) => handlers.onRequest(request),
    onNotification: (method, params) => handlers.onNotification(method, params),
    version: '2.0',
  });
  const onValue = (value: JsonValue) => peer.receive(value);
  const secrets = [lease.token];
  const process = await startLineProcess({
    clock,
    label,
    program,
    args,
    cwd: workspace,
    env,
    marker,
    secrets,
    onValue,
  });
  void process.gone.then(({ how }) => peer.close(`${label} ${how}.`));
  return {
    process,
    peer,
    listen(next) {
      handlers = next;
    },
  };
}

/** A step of the start, within its time, and not beyond the end of the process or of the wish to start it. */
function limited(label: string, process: LineProcess, { clock, signal }: OpenNative) {
  const gone = process.gone.then(({ how }) => {
    throw startFault(`${label} ${how} before it was ready.`);
  });
  gone.catch(() => undefined);
  return async (ms: number, work: Promise<JsonValue>): Promise<JsonValue> => {
    const settled = new AbortController();
    const late = sleep(clock, ms, AbortSignal.any([signal, settled.signal])).then(() => {
      if (settled.signal.aborted) return null;
      throw startFault(
        signal.aborted ? `The start of ${label} was stopped.` : `${label} was not ready within ${ms / 1_000} s.`,
      );
    });
    try {
      // Whoever is gone has closed the peer as well; the sentence of the former is the better one.
      return await Promise.race([gone, work.catch((cause: unknown) => rejectLater(cause, gone)), late]);
    } finally {
      settled.abort();
    }
  };
}

function rejectLater(cause: unknown, gone: Promise<never>): Promise<never> {
  return cause instanceof RpcError ? Promise.reject(cause) : gone;
}

const introduction = {
  protocolVersion: 1,
  // None: it uses files and terminals of its own (H-601).
  clientCapabilities: {},
  clientInfo: { name: 'reins', version: '1' },
} as const;

function resumeMethod(abilities: JsonObject): 'session/resume' | 'session/load' | null {
  if (objectOf(abilities['sessionCapabilities'])['resume'] !== undefined) return 'session/resume';
  return abilities['loadSession'] === true ? 'session/load' : null;
}

/** Where it offers models, and the one that is asked for among them. */
async function chooseModel(session: JsonObject, modelId: string, peer: RpcPeer): Promise<void> {
  const { availableModels, currentModelId } = objectOf(session['models']);
  const isOffered = JSON.stringify(availableModels ?? []).includes(JSON.stringify(modelId));
  if (!isOffered || currentModelId === modelId) return;
  await peer.request('session/set_model', { sessionId: textOf(session['sessionId']), modelId });
}

function takenServers(all: readonly ResolvedMcpServer[], abilities: JsonObject) {
  const missing = all.filter(({ server: { transport } }) => transport !== 'stdio' && abilities[transport] !== true);
  const servers = all.filter((each) => !missing.includes(each)).map(asServer);
  return { servers, missing: missing.map(({ name }) => name) };
}

function asServer({ name, server }: ResolvedMcpServer): JsonObject {
  const pairs = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([key, value]) => ({ name: key, value }));
  return server.transport === 'stdio'
    ? { name, command: server.command, args: server.args, env: pairs(server.env) }
    : { type: server.transport, name, url: server.url, headers: pairs(server.headers) };
}

function asFault(label: string, cause: unknown): RuntimeFault {
  return cause instanceof RuntimeFault ? cause : startFault(`${label} was not ready for work.`, cause);
}

function startFault(message: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault({ type: 'AgentUnavailableError', message, retryable: false }, { cause });
}
