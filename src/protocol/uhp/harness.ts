import { allowAll, type RunPermissions } from '../../core/run-event.ts';
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
  readonly mcpServers: readonly never[];
  readonly skills: readonly never[];
  readonly plugins: readonly never[];
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
  /** What the runtime can do, in words (UD-87). */
  readonly reinsCapabilities?: Readonly<Record<string, string>>;
};

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
  readonly createdAtMs: number;
}

export interface BaseFacts {
  readonly label: string;
  readonly capabilities?: Readonly<Record<string, string>>;
}

export function toUhpHarness(facts: HarnessFacts, base: BaseFacts): UhpHarness {
  const { mode, tools, onUnknown, questions } = facts.permissions ?? allowAll;
  return {
    id: facts.harnessId,
    object: 'harness',
    name: facts.name,
    base: facts.base,
    baseLabel: base.label,
    ...(facts.defaultModel === null ? {} : { defaultModel: facts.defaultModel }),
    systemPrompt: facts.systemPrompt ?? '',
    mcpServers: [],
    skills: [],
    plugins: [],
    environment: '',
    disabledTools: facts.disabledTools,
    maxStep: facts.maxStep,
    timeoutSeconds: facts.timeoutSeconds,
    createdAt: facts.createdAtMs,
    reinsPermissionMode: mode,
    reinsToolPermissions: tools,
    reinsOnUnknown: onUnknown,
    reinsQuestions: questions,
    ...(base.capabilities === undefined ? {} : { reinsCapabilities: base.capabilities }),
  };
}
