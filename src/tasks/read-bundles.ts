// The files of what a harness was given: as they were sent, wherever they are kept (U-125, UP-02).

import { exportPlugin } from '../packages/export-plugin.ts';
import { findHarness } from './find-in-scope.ts';
import { NotFoundError, DamageError } from '../core/errors.ts';
import type { BundleFile, HarnessRecord } from '../stores/harness-record.ts';
import type { Services } from './services.ts';

export interface NamedBundle {
  readonly harnessId: string;
  readonly name: string;
}

/** None of a skill that is only suppressed. @throws NotFoundError */
export async function readSkillFiles(
  services: Services,
  principal: string,
  { harnessId, name }: NamedBundle,
): Promise<readonly BundleFile[]> {
  const harness = await findHarness(services, principal, { name: harnessId });
  const skill = harness.setup.skills.find((each) => each.name === name);
  if (skill === undefined) throw new NotFoundError('skill');
  return filesOf(services, harness, skill.bundle);
}

/** @throws NotFoundError */
export async function readPluginFiles(
  services: Services,
  principal: string,
  { harnessId, name }: NamedBundle,
): Promise<readonly BundleFile[]> {
  const harness = await findHarness(services, principal, { name: harnessId });
  const plugin = harness.setup.plugins.find((each) => each.name === name);
  if (plugin === undefined) throw new NotFoundError('plugin');
  return filesOf(services, harness, plugin.bundle);
}

/** What a harness has of its own and enabled, as a package (UP-03, UP-40). @throws NotFoundError */
export async function exportHarness(
  services: Services,
  principal: string,
  name: string,
): Promise<ReturnType<typeof exportPlugin>> {
  const harness = await findHarness(services, principal, { name });
  const { mcpServers, skills } = harness.setup;
  const folders = skills
    .filter(({ enabled }) => enabled)
    .map(async (skill) => ({ name: skill.name, files: await filesOf(services, harness, skill.bundle) }));
  return exportPlugin({
    harnessId: harness.harnessId,
    harnessName: harness.name,
    mcpServers: mcpServers
      .filter(({ enabled }) => enabled)
      .map(({ headers, auth, ...server }) => ({
        ...server,
        hasSecrets: auth !== null || Object.keys(headers).length > 0,
      })),
    skills: await Promise.all(folders),
  });
}

async function filesOf(
  { store }: Services,
  { principal }: HarnessRecord,
  ref: string | null,
): Promise<readonly BundleFile[]> {
  if (ref === null) return [];
  const bundle = await store.bundle(principal, ref);
  if (bundle === null) throw new DamageError('The files of a skill or plugin are gone.');
  return bundle.files;
}
