// The harnesses that are other people's programs, by the settings: found on this machine, served through one relay.

import { createClaudeCodeRuntime } from './harnesses/claude-code/claude-code-runtime.ts';
import { createCodexRuntime } from './harnesses/codex/codex-runtime.ts';
import { createConfiguredAcpRuntime } from './harnesses/acp/configured-acp.ts';
import { createGeminiCliRuntime } from './harnesses/acp/gemini-cli.ts';
import { createOpencodeRuntime } from './harnesses/acp/opencode.ts';
import { createPiRuntime } from './harnesses/pi/pi-runtime.ts';
import { createForeignAdapter, type ForeignAdapter } from './harnesses/foreign/foreign-adapter.ts';
import { createHomes, type Homes } from './harnesses/foreign/homes.ts';
import { hostEnvironment, type Config } from './config.ts';
import type { Environment } from './process/child-environment.ts';
import { judge } from './engine/permissions.ts';
import { createProcessPool } from './harnesses/foreign/process-pool.ts';
import { poolBounds, thisMachine, treeLimits } from './machine-limits.ts';
import { openRelay, type Relay, type RelayOptions } from './harnesses/relay/relay.ts';
import { createProviderStanding } from './harnesses/relay/provider-standing.ts';
import { modelsInStanding } from './models-in-standing.ts';
import { defaultPolicies } from './engine/policies.ts';
import { systemRandom } from './system.ts';
import { watchTrees } from './process/watch-trees.ts';
import type { Catalogue } from './engine/models/catalogue.ts';
import type { Clock } from './core/clock.ts';
import type { ForeignParts } from './harnesses/foreign/foreign-parts.ts';
import type { ForeignRuntime } from './harnesses/foreign/runtime.ts';
import type { JudgeCall } from './harnesses/foreign/judge.ts';
import type { Logger } from './core/logger.ts';
import type { RelayedCall } from './harnesses/relay/relayed-call.ts';

export interface ForeignHarnesses extends AsyncDisposable {
  readonly adapters: readonly ForeignAdapter[];
  readonly homes: Homes;
}

export interface ForeignOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly catalogue: Catalogue;
  readonly extras: ForeignParts['extras'];
  /** Absolute path of the folder of their private folders. */
  readonly root: string;
  /** Each model call that passed the relay, when it is over. Must not throw. */
  readonly onModelCall?: (call: RelayedCall) => void;
  /** Beside those of the settings. */
  readonly runtimes?: readonly RuntimeMaker[];
}

/** Makes a runtime that works on this machine. */
export type RuntimeMaker = (parts: { readonly host: Environment }) => ForeignRuntime;

/** Nothing is started before a task needs it. */
export function openForeign(
  config: Config,
  { clock, logger, catalogue, extras, root, onModelCall, runtimes = [] }: ForeignOptions,
): ForeignHarnesses {
  const homes = createHomes({ root, clock, random: systemRandom });
  const { idleSeconds, parkSeconds, silence } = config.harnesses;
  const machine = thisMachine();
  const watch = watchTrees(treeLimits(config.harnesses, machine), { clock, logger });
  const standing = createProviderStanding(clock);
  let relay: Promise<Relay> | null = null;
  const parts: ForeignParts = {
    clock,
    random: systemRandom,
    logger,
    homes,
    models: modelsInStanding(catalogue, standing),
    leaseBudget: config.harnesses.leaseBudget,
    relay() {
      relay ??= openRelay({
        upstreams: upstreamsOf(config),
        clock,
        random: systemRandom,
        logger,
        priceOf: (_, model) => catalogue.pricesOf(model),
        onCall(call) {
          standing.hear(call);
          onModelCall?.(call);
        },
      }).catch((cause: unknown) => {
        relay = null; // whoever needs it next has another try
        throw cause;
      });
      return relay;
    },
    judge: judgeCall,
    extras,
    warm: { idleSeconds, parkSeconds },
    pool: createProcessPool(poolBounds(config.harnesses, machine), { clock }),
    watch,
    silence,
  };
  const made = runtimes.map((make) => make({ host: hostEnvironment() }));
  const adapters = [...runtimesOf(config, { clock, logger }), ...made].map((runtime) =>
    createForeignAdapter(runtime, parts),
  );
  return {
    adapters,
    homes,
    async [Symbol.asyncDispose]() {
      const closed = await Promise.allSettled(adapters.map((adapter) => adapter[Symbol.asyncDispose]()));
      const failed = closed.find(({ status }) => status === 'rejected');
      // Of what has not stopped, a later server has to know.
      const left = failed === undefined ? await Promise.allSettled([homes.leave()]) : [];
      for (const each of [...closed, ...left])
        if (each.status === 'rejected') logger.error('Agents were not closed in order.', {}, each.reason);
      watch[Symbol.dispose]();
      const open = await relay?.catch(() => null);
      await open?.[Symbol.asyncDispose]();
    },
  };
}

function runtimesOf(
  { harnesses }: Config,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): readonly ForeignRuntime[] {
  const programs: Readonly<Partial<Record<string, string>>> = harnesses.programs;
  const partsOf = (base: string) => ({
    clock,
    random: systemRandom,
    logger,
    host: hostEnvironment(),
    path: programs[base] ?? null,
  });
  return [
    createClaudeCodeRuntime(partsOf('claude-code')),
    createCodexRuntime(partsOf('codex')),
    createPiRuntime(partsOf('pi')),
    createGeminiCliRuntime(partsOf('gemini-cli')),
    createOpencodeRuntime(partsOf('opencode')),
    ...Object.entries(harnesses.acp).map(([name, { provider, label, ...agent }]) =>
      createConfiguredAcpRuntime(
        { ...agent, name, providers: [provider], ...(label === undefined ? {} : { label }) },
        partsOf(`acp-${name}`),
      ),
    ),
  ];
}

/** Addresses of the providers, where the operator set none. */
const addresses = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  openrouter: 'https://openrouter.ai/api/v1',
} as const;

function upstreamsOf({ models: { credentials } }: Config): RelayOptions['upstreams'] {
  const { anthropic, openai, google, openrouter, ...rest } = credentials;
  const compatible = rest['openai-compatible'];
  const of = (settings: typeof anthropic, address: string) =>
    settings?.apiKey === undefined ? undefined : { baseURL: settings.baseURL ?? address, apiKey: settings.apiKey };
  const all = {
    anthropic: of(anthropic, addresses.anthropic),
    openai: of(openai, addresses.openai),
    google: of(google, addresses.google),
    openrouter: of(openrouter, addresses.openrouter),
    'openai-compatible':
      compatible?.baseURL === undefined
        ? undefined
        : { baseURL: compatible.baseURL, apiKey: compatible.apiKey ?? null },
  };
  return Object.fromEntries(Object.entries(all).filter(([, upstream]) => upstream !== undefined));
}

/** Calls of runtimes are judged as those of the engine are (H-040). */
export const judgeCall: JudgeCall = ({ name, useKind, input, paths, argsDigest, workspace }, { permissions, rules }) =>
  judge(
    {
      tool: {
        name,
        description: '',
        inputSchema: {},
        ...(useKind === undefined ? {} : { useKind }),
        run: () => Promise.reject(new TypeError('A tool of a runtime is run by the runtime.')),
      },
      input,
      paths,
      argsDigest,
      workspace,
    },
    { permissions, rules, defaultLevel: defaultPolicies.tools.defaultPermission },
  );

/** Of a place where no harness brings anything. */
export const noExtras: ForeignParts['extras'] = async () => ({ mcpServers: [], skillFolders: [], degraded: [] });
