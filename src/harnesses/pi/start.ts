// Starts Pi in RPC mode, or resumes it, and does not give it out before it has answered and the gate is in place: without its
// gate nobody would decide on its calls (H-040).

import { commandOf } from '../foreign/command-of.ts';
import { createPiCommands, CommandRefused, type PiCommands } from './commands.ts';
import { hasCatalogue, plainProvider, writePiFiles, type PiFiles } from './config-files.ts';
import { isGateNotice } from './gate.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { RuntimeFault, type OpenNative } from '../foreign/runtime.ts';
import { runtimeEnvironment, startLineProcess, type LineProcess } from '../foreign/line-process.ts';
import { sleep } from '../../core/clock.ts';
import type { Environment } from '../../process/child-environment.ts';

export interface StartedPi {
  readonly process: LineProcess;
  readonly commands: PiCommands;
  readonly nativeId: string;
  /** Whether it goes on from the conversation that it was given. */
  readonly resumed: boolean;
  /** Told each event, those that came before included. */
  listen(listener: (event: JsonObject) => void): void;
}

const handshakeMs = 30_000;

interface PiProgram {
  readonly path: string;
  readonly host: Environment;
}

/** One that cannot be gone on with is begun anew (H-071). @throws RuntimeFault  Nothing of it is left behind. */
export async function startPi(options: OpenNative, program: PiProgram): Promise<StartedPi> {
  const { resume, signal, random, logger } = options;
  try {
    return await startOnce(options, { ...program, nativeId: resume?.nativeId ?? random.token() });
  } catch (cause) {
    if (resume === null || signal.aborted || !(cause instanceof RuntimeFault)) throw cause;
    logger.warn('Pi did not resume its session; a new one is begun.', { why: cause.message });
    return startOnce({ ...options, resume: null }, { ...program, nativeId: random.token() });
  }
}

async function startOnce(
  options: OpenNative,
  { path, nativeId, host }: PiProgram & { readonly nativeId: string },
): Promise<StartedPi> {
  const files = await writePiFiles(options);
  const pi = await launch(options, {
    ...commandOf(path),
    own: argumentsFor(options, files, nativeId),
    env: environmentFor(options, files, host),
  });
  try {
    const messages = await handshake(options, pi);
    if (!pi.early.some(isGateNotice)) throw startFault('Pi did not load what decides on its calls.');
    return { ...pi, nativeId, resumed: options.resume !== null && messages > 0 };
  } catch (cause) {
    await pi.process.stop();
    options.logger.warn('Pi did not start.', { cause: String(cause), diagnostics: pi.process.diagnostics() });
    throw cause;
  }
}

type LaunchedPi = Omit<StartedPi, 'nativeId' | 'resumed'> & { readonly early: readonly JsonObject[] };

async function launch(
  { clock, workspace, marker, lease }: OpenNative,
  how: ReturnType<typeof commandOf> & { readonly own: readonly string[]; readonly env: Environment },
): Promise<LaunchedPi> {
  const early: JsonObject[] = [];
  let listener = (event: JsonObject): void => {
    early.push(event);
  };
  const commands = createPiCommands((value) => pi.send(value));
  const pi = await startLineProcess({
    clock,
    label: 'Pi',
    program: how.program,
    args: [...how.args, ...how.own],
    cwd: workspace,
    env: how.env,
    marker,
    secrets: [lease.token],
    onValue(value) {
      if (isJsonObject(value) && !commands.receive(value)) listener(value);
    },
  });
  void pi.gone.then(({ how: end }) => commands.close(`Pi ${end}.`));
  return {
    process: pi,
    commands,
    early,
    listen(next) {
      listener = next;
      for (const event of early.splice(0)) next(event);
    },
  };
}

/** Gives the number of messages of its conversation. */
async function handshake(
  { clock, signal, lease: { provider }, model }: OpenNative,
  { commands, process: pi }: LaunchedPi,
): Promise<number> {
  const asked = async () => {
    const { messageCount } = await commands.send('get_state');
    // A model that its catalogue knows brings its window, its prices and whether it thinks.
    if (hasCatalogue(provider)) await commands.send('set_model', { provider, modelId: model }).catch(ignoreRefusal);
    return typeof messageCount === 'number' ? messageCount : 0;
  };
  const settled = new AbortController();
  const limit = sleep(clock, handshakeMs, AbortSignal.any([signal, settled.signal])).then(() => null);
  const gone = pi.gone.then(({ how }) => how);
  try {
    const first = await Promise.race([asked(), gone, limit]);
    if (first === null)
      throw startFault(signal.aborted ? 'The start of Pi was stopped.' : 'Pi was not ready within 30 s.');
    if (typeof first === 'string') throw startFault(`Pi ${first} before it was ready.`);
    return first;
  } catch (cause) {
    if (cause instanceof RuntimeFault) throw cause;
    throw startFault('Pi was not ready for work.', cause);
  } finally {
    settled.abort();
  }
}

function environmentFor({ home, temporary }: OpenNative, { agentDir }: PiFiles, host: Environment): Environment {
  const own = { PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: '1', PI_TELEMETRY: '0', PI_SKIP_VERSION_CHECK: '1' };
  return runtimeEnvironment(host, { home, temporary, own });
}

function ignoreRefusal(cause: unknown): void {
  if (!(cause instanceof CommandRefused)) throw cause;
}

function argumentsFor(
  { model, config, skillFolders }: OpenNative,
  { gate, systemPrompt, hasMcpServers }: PiFiles,
  nativeId: string,
): readonly string[] {
  // Names that would read as options or lists of their own are none of Pi's tools.
  const disabled = config.disabledTools.filter((name) => /^\w[\w*-]*$/.test(name));
  return [
    '--mode',
    'rpc',
    '--offline',
    ...eachWith({ '--session-id': [nativeId], '--provider': [plainProvider], '--model': [model] }),
    ...isolated,
    ...eachWith({
      '--extension': hasMcpServers ? ['builtin:mcp', gate] : [gate],
      '--append-system-prompt': systemPrompt === null ? [] : [systemPrompt],
      '--exclude-tools': disabled.length === 0 ? [] : [disabled.join(',')],
      '--skill': skillFolders,
    }),
  ];
}

/** Nothing of the workspace, or of what a tool may have put beside our files (H-084). */
const isolated = [
  '--no-approve',
  '--no-extensions',
  '--no-context-files',
  '--no-skills',
  '--no-prompt-templates',
  '--no-themes',
] as const;

/** Each value with its option before it. */
function eachWith(values: Readonly<Record<string, readonly string[]>>): readonly string[] {
  return Object.entries(values).flatMap(([option, given]) => given.flatMap((value) => [option, value]));
}

function startFault(message: string, cause?: unknown): RuntimeFault {
  return new RuntimeFault({ type: 'AgentUnavailableError', message, retryable: false }, { cause });
}
