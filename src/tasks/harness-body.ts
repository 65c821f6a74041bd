import type { RunPermissions } from '../core/run-config.ts';
import type { SentFile } from '../packages/check-files.ts';

/** What a caller writes of a harness: what is absent stays as it is, null clears, all else replaces the whole (UD-32). */
export type HarnessBody = {
  readonly [K in keyof HarnessFields]?: HarnessFields[K] | null | undefined;
};

interface HarnessFields {
  readonly name: string;
  readonly base: string;
  readonly defaultModel: string;
  readonly systemPrompt: string;
  readonly mcpServers: readonly SentServer[];
  readonly skills: readonly SentSkill[];
  readonly plugins: readonly SentPlugin[];
  readonly disabledTools: readonly string[];
  readonly maxStep: number;
  readonly timeoutSeconds: number;
  readonly permissionMode: RunPermissions['mode'];
  readonly toolPermissions: RunPermissions['tools'];
  readonly onUnknown: RunPermissions['onUnknown'];
  readonly questions: boolean;
  readonly modelFallback: boolean;
  readonly template: string;
  readonly workspaceConfig: boolean;
}

export interface SentServer {
  readonly name: string;
  readonly url: string;
  readonly transport: 'http' | 'sse';
  readonly enabled: boolean;
  /** Values, or handles of values that this harness has (UD-37). */
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: string | null;
}

interface SentBundle {
  readonly enabled: boolean;
  readonly files?: readonly SentFile[] | null | undefined;
  /** A handle that was read. */
  readonly blob?: string | null | undefined;
}

export interface SentSkill extends SentBundle {
  readonly name: string;
  /** Of its one file, `SKILL.md`. */
  readonly content?: string | null | undefined;
}

export interface SentPlugin extends SentBundle {
  readonly name?: string | null | undefined;
}
