// Starts an agent that speaks ACP, and gives it out when it has a session: one that it was given, or a new one (H-071).

import { createRpcPeer, RpcError, type RpcHandlers, type RpcPeer } from '../foreign/rpc-peer.ts';
import { launch, resumeMs, resumeOrBegin, shakeHands, wholeStartMs, type Within } from '../foreign/start-step.ts';
import { objectOf, textOf, wordOf } from '../foreign/fields.ts';
import type { AcpLaunch, AcpProfile } from './acp-profile.ts';
import type { JsonObject } from '../../core/json.ts';
import type { LineProcess } from '../foreign/line-process.ts';
import type { OpenNative, ResolvedMcpServer } from '../foreign/runtime.ts';

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

interface AcpProgram {
  readonly path: string;
  readonly version: string | null;
}

/** @throws RuntimeFault  Nothing of it is left behind. */
export function startAcp(profile: AcpProfile, program: AcpProgram, options: OpenNative): Promise<StartedAcp> {
  return resumeOrBegin(profile.label, options, (each) => startOnce(profile, program, each));
}

async function startOnce(profile: AcpProfile, program: AcpProgram, options: OpenNative): Promise<StartedAcp> {
  const { label } = profile;
  const how = await profile.launch(options, program.path);
  const { process, peer, listen } = await spawn(label, how, options);
  return shakeHands({ label, process, options }, async (within) => {
    const answer = objectOf(await within(wholeStartMs, peer.request('initialize', introduction)));
    const abilities = objectOf(answer['agentCapabilities']);
    const { servers, missing } = takenServers(how.mcpServers, objectOf(abilities['mcpCapabilities']));
    const opening = { peer, within, options, place: { cwd: options.workspace, mcpServers: servers } };
    const old = options.resume;
    const isBack = old !== null && (await goOn(profile, opening, { nativeId: old.nativeId, abilities }));
    const nativeId = isBack ? old.nativeId : await begin(opening);
    const version = wordOf(objectOf(answer['agentInfo'])['version']) ?? program.version;
    await options.remember({ nativeId, version });
    const lost = options.mcpServers.filter((each) => !how.mcpServers.includes(each)).map(({ name }) => name);
    const missingServers = [...missing, ...lost];
    return {
      process,
      peer,
      listen,
      nativeId,
      version,
      abilities,
      resumed: isBack,
      foreword: how.foreword,
      missingServers,
    };
  });
}

interface Opening {
  readonly peer: RpcPeer;
  readonly within: Within;
  readonly options: OpenNative;
  readonly place: JsonObject;
}

async function begin({ peer, within, options, place }: Opening): Promise<string> {
  const session = objectOf(await within(wholeStartMs, peer.request('session/new', place)));
  await chooseModel(session, options.model, peer);
  return textOf(session['sessionId']);
}

/** False: it knows nothing of that session. One that does not come to an end with it is of no use any more. */
async function goOn(
  profile: AcpProfile,
  { peer, within, options, place }: Opening,
  { nativeId: sessionId, abilities }: { readonly nativeId: string; readonly abilities: JsonObject },
): Promise<boolean> {
  const method = resumeMethod(abilities);
  if (method === null) return false;
  await profile.beforeLoad?.(options.home, sessionId);
  return within(resumeMs, peer.request(method, { sessionId, ...place })).then(
    () => true,
    (cause: unknown) => {
      if (cause instanceof RpcError) return false;
      throw cause;
    },
  );
}

async function spawn(label: string, { program, args, env }: AcpLaunch, options: OpenNative) {
  // Until a session listens, nothing is decided, and what is told is an old conversation.
  let handlers: Pick<RpcHandlers, 'onRequest' | 'onNotification'> = { onRequest: () => false, onNotification() {} };
  const peer = createRpcPeer({
    send: (value) => process.send(value),
    onRequest: (request) => handlers.onRequest(request),
    onNotification: (method, params) => handlers.onNotification(method, params),
    version: '2.0',
  });
  const process = await launch(options, { label, program, args, env, onValue: (value) => peer.receive(value) });
  void process.gone.then(({ how }) => peer.close(`${label} ${how}.`));
  const listen = (next: typeof handlers) => void (handlers = next);
  return { process, peer, listen };
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
