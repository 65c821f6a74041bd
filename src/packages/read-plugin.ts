// A plugin package, read as a client of the format reads it. Without a valid manifest there is no plugin; all else that cannot
// be used is left out and named, and the rest loads (UP-11, UP-20 to UP-36).

import { readManifest } from './plugin-manifest.ts';
import { readServers } from './plugin-servers.ts';
import { readSkills, type PluginSkill } from './plugin-skills.ts';
import type { BundleFile } from '../stores/harness-record.ts';
import type { JsonObject } from '../core/json.ts';
import type { PluginServer } from '../core/run-config.ts';

/** What a package is made of, derived from its files. */
export interface PluginPackage {
  readonly name: string;
  /** `plugin.json`, parsed (UP-24). */
  readonly manifest: JsonObject;
  readonly mcpServers: readonly PluginServer[];
  readonly skills: readonly PluginSkill[];
  readonly skipped: readonly Skipped[];
}

/** A component that did not load; `reason` is one sentence. */
export interface Skipped {
  readonly path: string;
  readonly reason: string;
}

/** @param param  The field that the package came in. @throws PluginInvalidError, UnsupportedPluginSchemaError */
export function readPlugin(files: readonly BundleFile[], param?: string): PluginPackage {
  const { name, manifest, skipped } = readManifest(files, param);
  const servers = readServers(files);
  const skills = readSkills(files);
  return {
    name,
    manifest,
    mcpServers: servers.found,
    skills: skills.found,
    skipped: [...skipped, ...servers.skipped, ...skills.skipped],
  };
}
