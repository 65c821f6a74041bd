// What a store keeps of harnesses: how each is configured, and the files that it was given.

import type { HarnessId } from '../core/ids.ts';
import type { RunPermissions } from '../core/run-config.ts';

export interface HarnessRecord {
  readonly harnessId: HarnessId;
  readonly principal: string;
  readonly name: string;
  readonly base: string;
  readonly defaultModel: string | null;
  readonly systemPrompt: string | null;
  readonly disabledTools: readonly string[];
  readonly maxStep: number | null;
  readonly timeoutSeconds: number | null;
  /** What its agent may do unasked (UR-02); null = everything, and nobody is asked. */
  readonly permissions: RunPermissions | null;
  /** Whether its agent keeps a task list; null = as the server does. */
  readonly planning: boolean | null;
  readonly setup: HarnessSetup;
  readonly createdAtMs: number;
  readonly deleted: boolean;
}

/** What a harness is configured with beyond plain values, as written (U-101). */
export interface HarnessSetup {
  readonly mcpServers: readonly {
    readonly name: string;
    readonly url: string;
    readonly transport: 'http' | 'sse';
    readonly enabled: boolean;
    readonly headers: Readonly<Record<string, StoredSecret>>;
    readonly auth: StoredSecret | null;
  }[];
  /** Without a bundle: it suppresses one of the base (UD-40). */
  readonly skills: readonly { readonly name: string; readonly enabled: boolean; readonly bundle: string | null }[];
  readonly plugins: readonly { readonly name: string; readonly enabled: boolean; readonly bundle: string }[];
  /** Whether the default model may stand in for one that cannot be served (UD-47). */
  readonly modelFallback: boolean;
  /** Folder that new sessions are a copy of; null: the server's (UD-88). */
  readonly template: string | null;
  /** Whether the runtime reads the configuration that lies in the workspace (H-084). */
  readonly workspaceConfig: boolean;
}

/** Shown by its handle alone, `reins_secret:<id>` (UD-37). */
export interface StoredSecret {
  readonly id: string;
  readonly value: string;
}

export const plainSetup: HarnessSetup = {
  mcpServers: [],
  skills: [],
  plugins: [],
  modelFallback: false,
  template: null,
  workspaceConfig: false,
};

/** A folder of files that a harness was given: content as it was sent (U-121). Its name is a hash of what it holds. */
export interface Bundle {
  readonly ref: string;
  readonly files: readonly BundleFile[];
}

export type BundleFile =
  | { readonly path: string; readonly content: string }
  | { readonly path: string; readonly content_b64: string };
