import { allowAll, type RunPermissions } from '../../core/run-config.ts';
import { secretHandle } from '../../core/secret-handle.ts';
import { toUhpPlugin, type PluginFacts, type UhpPlugin } from './plugin.ts';
import type { HarnessId } from '../../core/ids.ts';

/** A harness as clients read it (U-101): camelCase, Unix ms. */
export type UhpHarness = {
  readonly id: HarnessId;
  readonly object: 'harness';
  readonly name: string;
  readonly base: string;
  readonly baseLabel: string;
  /** Absent: the base's own default. */
  readonly defaultModel?: string;
  readonly systemPrompt: string;
  /** What plugins bring stands with the plugins (UP-37). */
  readonly mcpServers: readonly UhpMcpServer[];
  readonly skills: readonly UhpSkill[];
  readonly plugins: readonly UhpPlugin[];
  /** Empty: none. */
  readonly environment: string;
  readonly disabledTools: readonly string[];
  readonly maxStep: number | null;
  readonly timeoutSeconds: number | null;
  readonly createdAt: number;
  /** What the agent may do unasked, and when it asks (UR-02). */
  readonly reinsPermissionMode: RunPermissions['mode'];
  readonly reinsToolPermissions: RunPermissions['tools'];
  readonly reinsOnUnknown: RunPermissions['onUnknown'];
  readonly reinsQuestions: boolean;
  /** Whether the default model may stand in for one that cannot be served (UD-47). */
  readonly reinsModelFallback: boolean;
  /** Folder that new sessions are a copy of; absent: the server's (UD-88). */
  readonly reinsTemplate?: string;
  /** Whether the runtime reads the configuration that lies in the workspace. */
  readonly reinsWorkspaceConfig: boolean;
  /** What the runtime can do, in words (UD-87). */
  readonly reinsCapabilities?: Readonly<Record<string, string | readonly string[]>>;
};

/** Values of headers and `auth` are handles, never what they stand for (UD-37). */
export type UhpMcpServer = {
  readonly name: string;
  readonly url: string;
  readonly transport: 'http' | 'sse';
  readonly enabled: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth?: string;
};

/** `blob`, sent back, keeps its files; absent: it has none, and suppresses one of the base (UD-36, UD-40). */
export type UhpSkill = { readonly name: string; readonly enabled: boolean; readonly blob?: string };

export interface SetupFacts {
  readonly mcpServers: readonly (Pick<UhpMcpServer, 'name' | 'url' | 'transport' | 'enabled'> & {
    readonly headers: Readonly<Record<string, Secret>>;
    readonly auth: Secret | null;
  })[];
  readonly skills: readonly { readonly name: string; readonly enabled: boolean; readonly bundle: string | null }[];
  readonly modelFallback: boolean;
  readonly template: string | null;
  readonly workspaceConfig: boolean;
}

interface Secret {
  readonly id: string;
}

export interface HarnessFacts {
  readonly harnessId: HarnessId;
  readonly name: string;
  readonly base: string;
  readonly defaultModel: string | null;
  readonly systemPrompt: string | null;
  readonly disabledTools: readonly string[];
  readonly maxStep: number | null;
  readonly timeoutSeconds: number | null;
  readonly permissions: RunPermissions | null;
  readonly setup: SetupFacts;
  readonly createdAtMs: number;
}

export interface InstalledFacts extends PluginFacts {
  readonly enabled: boolean;
  readonly bundle: string;
}

export interface BaseFacts {
  readonly label: string;
  readonly capabilities?: Readonly<Record<string, string | readonly string[]>>;
}

export function toUhpHarness(
  facts: HarnessFacts,
  base: BaseFacts,
  plugins: readonly InstalledFacts[] = [],
): UhpHarness {
  const { mcpServers, skills, modelFallback, template, workspaceConfig } = facts.setup;
  const { mode, tools, onUnknown, questions } = facts.permissions ?? allowAll;
  return {
    id: facts.harnessId,
    object: 'harness',
    name: facts.name,
    base: facts.base,
    baseLabel: base.label,
    ...(facts.defaultModel === null ? {} : { defaultModel: facts.defaultModel }),
    systemPrompt: facts.systemPrompt ?? '',
    mcpServers: mcpServers.map(toServer),
    skills: skills.map(({ name, enabled, bundle }) => ({
      name,
      enabled,
      ...(bundle === null ? {} : { blob: bundle }),
    })),
    plugins: plugins.map((plugin) => toUhpPlugin(plugin, { enabled: plugin.enabled, blob: plugin.bundle })),
    environment: '',
    disabledTools: facts.disabledTools,
    maxStep: facts.maxStep,
    timeoutSeconds: facts.timeoutSeconds,
    createdAt: facts.createdAtMs,
    reinsPermissionMode: mode,
    reinsToolPermissions: tools,
    reinsOnUnknown: onUnknown,
    reinsQuestions: questions,
    reinsModelFallback: modelFallback,
    ...(template === null ? {} : { reinsTemplate: template }),
    reinsWorkspaceConfig: workspaceConfig,
    ...(base.capabilities === undefined ? {} : { reinsCapabilities: base.capabilities }),
  };
}

function toServer({ name, url, transport, enabled, headers, auth }: SetupFacts['mcpServers'][number]): UhpMcpServer {
  const shown = Object.entries(headers).map(([header, { id }]) => [header, secretHandle(id)] as const);
  return {
    name,
    url,
    transport,
    enabled,
    headers: Object.fromEntries(shown),
    ...(auth === null ? {} : { auth: secretHandle(auth.id) }),
  };
}
