import { createAcpRuntime, type AcpParts } from './acp-runtime.ts';
import { findProgram } from '../../process/find-program.ts';
import { instructionsOf } from '../foreign/instructions-of.ts';
import { isAbsolute } from 'node:path';
import { leastCapabilities } from '../foreign/least-capabilities.ts';
import { objectOf, textOf } from '../foreign/fields.ts';
import { runtimeEnvironment } from '../foreign/line-process.ts';
import { statSync } from 'node:fs';
import { unfitProgram } from '../foreign/find-runtime.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { ForeignRuntime, OpenNative, ProgramStatus } from '../foreign/runtime.ts';

/** An agent that nobody has tried here, as its operator describes it (H-607). */
export interface ConfiguredAcp {
  /** Kebab-case; its base is `acp-<name>`. */
  readonly name: string;
  /** For people; absent: the name. */
  readonly label?: string;
  /** A path, or a name on the search path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Environment;
  /** Names of the variables that lead it to the relay; null: it is not led there. */
  readonly baseUrlVariable: string | null;
  readonly keyVariable: string | null;
  readonly providers: ForeignRuntime['providers'];
}

/** What holds for all that speak the protocol, and no more (H-607). */
const capabilities = { ...leastCapabilities, text: 'stream', approvals: 'own-rules', cancel: 'in-band' } as const;

export function createConfiguredAcpRuntime(agent: ConfiguredAcp, parts: Omit<AcpParts, 'path'>): ForeignRuntime {
  const { name, label = name, providers } = agent;
  const profile = {
    base: `acp-${name}`,
    label,
    providers,
    // Nobody has told it which to use.
    auxiliaryModels: 'any',
    mcpTransports: ['http', 'sse', 'stdio'],
    capabilities,
    dialect: {
      label,
      callsFollowReply: false,
      asksAlways: false,
      asksWithLess: false,
      nameOf: ({ title }) => textOf(title),
      inputOf: ({ rawInput }) => (Object.keys(objectOf(rawInput)).length === 0 ? undefined : rawInput),
      isFailure: () => false,
    },
    probe: () => Promise.resolve(look(agent, label, parts.host)),
    launch: (options: OpenNative, program: string) =>
      Promise.resolve(launch(agent, { options, program, host: parts.host })),
  } as const satisfies Parameters<typeof createAcpRuntime>[0];
  return createAcpRuntime(profile);
}

function launch(
  { args, env, baseUrlVariable, keyVariable }: ConfiguredAcp,
  { options, program, host }: { readonly options: OpenNative; readonly program: string; readonly host: Environment },
) {
  const { home, temporary, lease, mcpServers, config } = options;
  const own = {
    ...env,
    ...(baseUrlVariable === null ? {} : { [baseUrlVariable]: lease.url }),
    ...(keyVariable === null ? {} : { [keyVariable]: lease.token }),
  };
  const environment = runtimeEnvironment(host, { home, temporary, own });
  return { program, args, env: environment, mcpServers, foreword: instructionsOf(config) };
}

/** Its version is not asked for: nobody knows how. */
function look({ command }: ConfiguredAcp, label: string, host: Environment): ProgramStatus {
  const path = isAbsolute(command) ? command : findProgram(command, host['PATH']);
  const status = { path, version: null, versionTried: false } as const;
  const fault = (code: string, message: string) => ({ ...status, installed: false, problem: { code, message } });
  if (path === null || statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
    return fault('not-installed', `${label} is not installed: there is no program ${command}.`);
  const unfit = unfitProgram(path);
  return unfit === null ? { ...status, installed: true, problem: null } : fault('not-executable', unfit);
}
