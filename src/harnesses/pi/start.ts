// Starts Pi in RPC mode, or resumes it, and does not give it out before it has answered and the gate is in place: without its
// gate nobody would decide on its calls (H-040).

import { commandOf } from '../foreign/command-of.ts';
import { countOf } from '../foreign/fields.ts';
import { createPiCommands, CommandRefused, type PiCommands } from './commands.ts';
import { launch, resumeOrBegin, shakeHands, unavailable, wholeStartMs } from '../foreign/start-step.ts';
import { hasCatalogue, plainProvider, writePiFiles, type PiFiles } from './config-files.ts';
import { isGateNotice } from './gate.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { runtimeEnvironment, type LineProcess } from '../foreign/line-process.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { OpenNative } from '../foreign/runtime.ts';

export interface StartedPi {
  readonly process: LineProcess;
  readonly commands: PiCommands;
  readonly version: string | null;
  /** Whether it goes on from the conversation that it was given. */
  readonly resumed: boolean;
  /** Told each event, those that came before included. */
  listen(listener: (event: JsonObject) => void): void;
}

const label = 'Pi';

interface PiProgram {
  readonly path: string;
  readonly version: string | null;
  readonly host: Environment;
}

/** @throws RuntimeFault  Nothing of it is left behind. */
export function startPi(options: OpenNative, program: PiProgram): Promise<StartedPi> {
  return resumeOrBegin(label, options, (each) => startOnce(each, program));
}

async function startOnce(options: OpenNative, { path, version, host }: PiProgram): Promise<StartedPi> {
  const { resume, random } = options;
  const nativeId = resume?.nativeId ?? random.token();
  const files = await writePiFiles(options);
  const { program, args } = commandOf(path);
  const early: JsonObject[] = [];
  let listener = (event: JsonObject): void => {
    early.push(event);
  };
  const commands = createPiCommands((value) => process.send(value));
  const process = await launch(options, {
    label,
    program,
    args: [...args, ...argumentsFor(options, files, nativeId)],
    env: environmentFor(options, files, host),
    onValue(value) {
      if (isJsonObject(value) && !commands.receive(value)) listener(value);
    },
  });
  void process.gone.then(({ how }) => commands.close(`Pi ${how}.`));
  return shakeHands({ label, process, options }, async (within) => {
    const messages = await within(wholeStartMs, greet(options, commands));
    if (!early.some(isGateNotice)) throw unavailable('Pi did not load what decides on its calls.');
    await options.remember({ nativeId, version });
    return {
      process,
      commands,
      version,
      resumed: resume !== null && messages > 0,
      listen(next) {
        listener = next;
        for (const event of early.splice(0)) next(event);
      },
    };
  });
}

/** Gives the number of messages of its conversation. */
async function greet({ lease: { provider }, model }: OpenNative, commands: PiCommands): Promise<number> {
  const { messageCount } = await commands.send('get_state');
  // A model that its catalogue knows brings its window, its prices and whether it thinks.
  if (hasCatalogue(provider)) await commands.send('set_model', { provider, modelId: model }).catch(ignoreRefusal);
  return countOf(messageCount);
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
    ...(config.workspaceConfig === true ? ['--approve'] : isolated),
    ...eachWith({
      '--extension': hasMcpServers ? ['builtin:mcp', gate] : [gate],
      '--append-system-prompt': systemPrompt === null ? [] : [systemPrompt],
      '--exclude-tools': disabled.length === 0 ? [] : [disabled.join(',')],
      '--skill': skillFolders,
    }),
  ];
}

/** Without leave: nothing of the workspace, or of what a tool may have put beside our files (H-084). */
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
