import { ConfigurationError } from '../../core/errors.ts';
import { instructionsOf } from '../foreign/instructions-of.ts';
import { isRecord } from '../../protocol/parts/part-json.ts';
import { leastCapabilities } from '../foreign/least-capabilities.ts';
import { localSandbox } from './local-sandbox.ts';
import { questionsTool } from './questions.ts';
import { readSkills } from './read-skills.ts';
import { startSession } from './start-session.ts';
import { V1NativeSession } from './v1-session.ts';
import type { Capabilities } from '../harness.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { ForeignRuntime, NativeLease } from '../foreign/runtime.ts';
import type { HarnessV1 } from './harness-v1.ts';
import type { UseKind } from '../foreign/native-fact.ts';
import type { V1Setting } from './v1-state.ts';

export interface FromHarnessV1Options {
  /** For people. Absent: the adapter's id. */
  readonly label?: string;
  /** Whose models it can call, the preferred one first. Absent: any that the operator has a key for. */
  readonly providers?: ForeignRuntime['providers'];
  /** The same adapter, set up to call models through the relay. Absent: it calls them with credentials of its own. */
  readonly withLease?: (
    lease: Pick<NativeLease, 'url' | 'token' | 'provider'> & { readonly model: string },
  ) => HarnessV1;
}

/** Given by who composes. */
export interface HarnessV1Parts {
  readonly host: Environment;
}

/**
 * Any adapter of the AI SDK's harness specification as a harness here, `v1-<harnessId>` (P-075). It runs in this process, on
 * this machine.
 * @throws ConfigurationError  It is of another specification, or its id cannot be a name.
 */
export function fromHarnessV1(
  adapter: HarnessV1,
  { label = adapter.harnessId, providers = allProviders, withLease }: FromHarnessV1Options = {},
): (parts: HarnessV1Parts) => ForeignRuntime {
  const version: string = adapter.specificationVersion;
  if (version !== 'harness-v1')
    throw new ConfigurationError('A harness adapter must be of the specification harness-v1.');
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(adapter.harnessId))
    throw new ConfigurationError('The harnessId of an adapter must be in kebab-case.');
  const mayAsk = adapter.supportsBuiltinToolApprovals === true;
  let steer: Capabilities['steer'] = 'none';
  return ({ host }) => ({
    base: `v1-${adapter.harnessId}`,
    label,
    providers,
    auxiliaryModels: 'any',
    get capabilities() {
      return { ...capabilitiesOf(adapter), steer };
    },
    probe: async () => ({ installed: true, path: null, version: null, versionTried: false, problem: null }),
    async open(options) {
      const { lease, model, workspace, config } = options;
      const leased = withLease?.({ ...lease, model }) ?? adapter;
      const session = await startSession(leased, { label, options, sandbox: localSandbox(options, host) });
      const setting: V1Setting = { label, model, workspace, mayAsk, useKindOf: (tool) => useKindOf(adapter, tool) };
      const banned = adapter.supportsBuiltinToolFiltering === true ? [] : config.disabledTools;
      const instructions = instructionsOf(config, banned);
      const native = new V1NativeSession({
        session,
        options,
        setting,
        settings: {
          model,
          skills: await readSkills(options.skillFolders),
          tools: [],
          ...(instructions === null ? {} : { instructions }),
        },
        onControl(control) {
          steer = control.submitUserMessage === undefined ? 'none' : 'next-step';
        },
      });
      lease.onFact((fact) => native.hearRelay(fact));
      return native;
    },
  });
}

const allProviders: ForeignRuntime['providers'] = ['anthropic', 'openai', 'google', 'openrouter', 'openai-compatible'];

/** What a turn can be told is known when one has begun. */
function capabilitiesOf(adapter: HarnessV1): Capabilities {
  const { builtinTools, supportsBuiltinToolApprovals, supportsBuiltinToolFiltering } = adapter;
  return {
    ...leastCapabilities,
    text: 'stream',
    thinking: 'stream',
    toolInput: 'stream',
    approvals: supportsBuiltinToolApprovals === true ? 'own-rules' : 'none',
    questions: Object.hasOwn(builtinTools, questionsTool) ? 'yes' : 'no',
    cancel: 'in-band',
    resume: 'own-id',
    disabledTools: supportsBuiltinToolFiltering === true ? 'block' : 'instruction',
    usage: 'per-step',
    denial: 'goes-on',
  };
}

/** By the adapter's own word on the tool. */
function useKindOf({ builtinTools }: HarnessV1, toolName: string): UseKind | undefined {
  const tool = Object.hasOwn(builtinTools, toolName) ? builtinTools[toolName] : undefined;
  switch (isRecord(tool) ? tool['toolUseKind'] : undefined) {
    case 'readonly':
      return 'readonly';
    case 'edit':
      return 'edit';
    case 'bash':
      return 'execute';
    default:
      return undefined;
  }
}
