import type { JsonObject } from '../../core/json.ts';
import type { PluginServer } from '../../core/run-config.ts';

/** As it was sent (U-121). */
export type UhpSkillFile =
  | { readonly path: string; readonly content: string }
  | { readonly path: string; readonly content_b64: string };

export type UhpFileList = { readonly files: readonly UhpSkillFile[] };

/** An installed package without its files, or an exported one with them (UP-10, UP-11). */
export type UhpPlugin = {
  readonly name: string;
  readonly enabled: boolean;
  /** Sent back, it keeps the package (UP-12). */
  readonly blob?: string;
  readonly files?: readonly UhpSkillFile[];
  readonly manifest: JsonObject;
  /** Placeholders are as in the file (UP-34). */
  readonly mcpServers: readonly (PluginServer & { readonly enabled: true })[];
  readonly skills: readonly { readonly name: string; readonly description: string }[];
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
};

export interface PluginFacts extends Pick<UhpPlugin, 'name' | 'manifest' | 'skills' | 'skipped'> {
  readonly mcpServers: readonly PluginServer[];
}

/** Both its own lists come from its package; only where the package itself is differs. */
export function toUhpPlugin(
  { name, manifest, mcpServers, skills, skipped }: PluginFacts,
  rest: Pick<UhpPlugin, 'enabled' | 'blob' | 'files'>,
): UhpPlugin {
  return {
    name,
    ...rest,
    manifest,
    mcpServers: mcpServers.map((server) => ({ ...server, enabled: true })),
    skills,
    skipped,
  };
}
