// Skills and plugins of a harness as they are stored: each is a bundle of files, named by a hash of what it holds. The name is
// what a reader gets as `blob` and sends back to keep the content (UD-36).

import { createHash } from 'node:crypto';
import { addressFault } from './address-fault.ts';
import { checkFiles, type FileFault } from '../packages/check-files.ts';
import { InvalidInputError, type RequestError } from '../core/errors.ts';
import { PluginInvalidError } from '../packages/plugin-errors.ts';
import { serverPath } from '../packages/plugin-servers.ts';
import { readPlugin } from '../packages/read-plugin.ts';
import type { Store } from '../stores/store.ts';
import type { Bundle, BundleFile, HarnessSetup } from '../stores/harness-record.ts';
import type { InstalledPlugin } from './installed-plugins.ts';
import type { PluginServer } from '../core/run-config.ts';
import type { SentPlugin, SentSkill } from './harness-body.ts';

export interface BundleScope {
  readonly store: Store;
  readonly principal: string;
  /** Of the files of one bundle. */
  readonly maxBytes: number;
  /** Hosts at which servers of plugins may lie though they are not public. */
  readonly allowHosts: readonly string[];
}

type StoredSkill = HarnessSetup['skills'][number];

/** With the bundles that came in it; a skill that is suppressed only has none (UD-40). @throws RequestError */
export async function storedSkills(
  scope: BundleScope,
  sent: readonly SentSkill[],
): Promise<{ readonly skills: readonly StoredSkill[]; readonly bundles: readonly Bundle[] }> {
  const found = await Promise.all(
    sent.map(async (skill, index) => {
      const param = `skills[${index}]`;
      const bundle = await skillBundle(scope, skill, param);
      if (bundle === null && skill.enabled) throw new InvalidInputError('A skill needs its files.', `${param}.files`);
      if (bundle !== null && !bundle.files.some(({ path }) => path === 'SKILL.md'))
        throw new InvalidInputError('A skill needs a file SKILL.md.', `${param}.files`);
      return { bundle, skill: { name: skill.name, enabled: skill.enabled, bundle: bundle?.ref ?? null } };
    }),
  );
  return { skills: found.map(({ skill }) => skill), bundles: found.flatMap(({ bundle }) => bundle ?? []) };
}

/** The same for plugins; what they are made of is derived, whatever was sent (UP-11). @throws RequestError */
export async function storedPlugins(
  scope: BundleScope,
  sent: readonly SentPlugin[],
): Promise<{ readonly plugins: readonly InstalledPlugin[]; readonly bundles: readonly Bundle[] }> {
  const found = await Promise.all(
    sent.map(async ({ name, enabled, files, blob }, index) => {
      const param = `plugins[${index}]`;
      const refusal = (fault: FileFault) => new PluginInvalidError(fault, paramOf(param, fault));
      const bundle = (await findBundle(scope, { files, blob, refusal })) ?? null;
      if (bundle === null) throw invalidPlugin('It needs its files, or a blob that was read.', param);
      const plugin = readPlugin(bundle.files, param);
      if ((name ?? plugin.name) !== plugin.name)
        throw invalidPlugin('Its name is not that of its manifest.', `${param}.name`);
      for (const server of plugin.mcpServers) refuseAddress(scope, server, param);
      return { bundle, plugin: { ...plugin, enabled, bundle: bundle.ref } };
    }),
  );
  return { plugins: found.map(({ plugin }) => plugin), bundles: found.map(({ bundle }) => bundle) };
}

function refuseAddress({ allowHosts }: BundleScope, server: PluginServer, param: string): void {
  const reason = server.transport === 'stdio' ? null : addressFault(server.url, allowHosts);
  if (reason !== null) throw new PluginInvalidError({ path: serverPath(server.name), reason }, param);
}

/** Null: nothing was sent. */
async function skillBundle(scope: BundleScope, skill: SentSkill, param: string): Promise<Bundle | null> {
  const { content = null, files = null, blob } = skill;
  if (content !== null && files !== null)
    throw new InvalidInputError('Only one of content and files may be set.', `${param}.content`);
  const refusal = (fault: FileFault) => new InvalidInputError(fault.reason, paramOf(param, fault));
  const sent = content === null ? files : [{ path: 'SKILL.md', content }];
  const bundle = await findBundle(scope, { files: sent, blob, refusal });
  if (bundle === undefined) throw new InvalidInputError('There is no such bundle; send the files.', `${param}.blob`);
  return bundle;
}

/** Files win over a handle (UD-36). Null: neither was sent; undefined: an unknown handle. */
async function findBundle(
  { store, principal, maxBytes }: BundleScope,
  o: Pick<SentPlugin, 'files' | 'blob'> & { readonly refusal: (fault: FileFault) => RequestError },
): Promise<Bundle | null | undefined> {
  const { files = null, blob = null, refusal } = o;
  if (files !== null) return bundleOf(checkFiles(files, { maxBytes, refusal }));
  return blob === null ? null : ((await store.bundle(principal, blob)) ?? undefined);
}

function bundleOf(files: readonly BundleFile[]): Bundle {
  return { ref: `sha256:${createHash('sha256').update(JSON.stringify(files)).digest('hex')}`, files };
}

function invalidPlugin(reason: string, param: string): PluginInvalidError {
  return new PluginInvalidError({ path: 'plugin.json', reason }, param);
}

function paramOf(param: string, { index, field }: FileFault): string {
  return `${param}.files[${index}].${field}`;
}
