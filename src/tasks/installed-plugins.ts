import { readPlugin, type PluginPackage } from '../packages/read-plugin.ts';
import { DamageError } from '../core/errors.ts';
import type { Store } from '../stores/store.ts';
import type { HarnessRecord, HarnessSetup } from '../stores/harness-record.ts';

export interface InstalledPlugin extends PluginPackage {
  readonly enabled: boolean;
  readonly bundle: string;
}

/** A package never changes under its name, so it is read once, and not for each task and each list of harnesses. */
const known = new WeakMap<Store, Map<string, PluginPackage>>();
const most = 100;

/** The plugins of a harness as their files make them. @throws DamageError  A package is not there any more. */
export async function installedPlugins(
  { store }: { readonly store: Store },
  { principal, plugins }: Pick<HarnessRecord, 'principal'> & Pick<HarnessSetup, 'plugins'>,
): Promise<readonly InstalledPlugin[]> {
  const packages = known.get(store) ?? new Map<string, PluginPackage>();
  known.set(store, packages);
  return Promise.all(
    plugins.map(async ({ enabled, bundle: ref }) => {
      const read = packages.get(ref) ?? (await readFrom(store, principal, ref));
      packages.set(ref, read);
      if (packages.size > most) packages.delete(packages.keys().next().value ?? ref);
      return { ...read, enabled, bundle: ref };
    }),
  );
}

async function readFrom(store: Store, principal: string, ref: string): Promise<PluginPackage> {
  const bundle = await store.bundle(principal, ref);
  if (bundle === null) throw new DamageError('The files of an installed plugin are gone.');
  return readPlugin(bundle.files);
}
