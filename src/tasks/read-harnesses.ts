import { findHarness } from './find-in-scope.ts';
import { mayUseModel } from './principal-limits.ts';
import { installedPlugins, type InstalledPlugin } from './installed-plugins.ts';
import type { Capabilities, HarnessStatus } from '../harnesses/harness.ts';
import type { HarnessRecord } from '../stores/harness-record.ts';
import type { ModelListing } from '../core/model-choice.ts';
import type { Services } from './services.ts';

/** A configured harness with what its base can do now. */
export interface HarnessView {
  /** With the permissions that hold, where it says none of its own. */
  readonly record: HarnessRecord;
  readonly plugins: readonly InstalledPlugin[];
  readonly label: string;
  /** Absent when the base is not installed here. */
  readonly capabilities?: Capabilities;
}

/** The models of one base. */
export interface Backend {
  readonly base: string;
  readonly defaultModel: string;
  readonly models: readonly ModelListing[];
}

export async function listHarnesses(services: Services, principal: string): Promise<readonly HarnessView[]> {
  const records = await services.store.harnesses(principal);
  return Promise.all(records.map((record) => viewOf(services, record)));
}

/** @throws NotFoundError  Unknown, deleted or another's. */
export async function readHarness(services: Services, principal: string, harnessId: string): Promise<HarnessView> {
  return viewOf(services, await findHarness(services, principal, { name: harnessId }));
}

export async function modelsOfHarness(
  services: Services,
  principal: string,
  harnessId: string,
): Promise<{ readonly record: HarnessRecord; readonly backend: Backend }> {
  const record = await findHarness(services, principal, { name: harnessId });
  return { record, backend: await backendOf(services, principal, record.base) };
}

export interface ModelCatalogue {
  /** Every base that can work here, with its models. */
  readonly backends: readonly Backend[];
  /** The others, and how to get them. */
  readonly missing: readonly { readonly base: string; readonly label: string; readonly why: string }[];
}

export async function modelCatalogue(services: Services, principal: string): Promise<ModelCatalogue> {
  const { bases } = services.harnesses;
  const seen = await Promise.all(bases.map(async (base) => ({ base, status: await probe(services, base) })));
  const here = seen.filter(({ status }) => status?.installed !== false);
  return {
    backends: await Promise.all(here.map(({ base }) => backendOf(services, principal, base))),
    missing: seen.flatMap(({ base, status }) => {
      if (status?.installed !== false) return [];
      const label = services.harnesses.adapter(base)?.label ?? base;
      return [{ base, label, why: status.problem?.message ?? `${label} is not installed.` }];
    }),
  };
}

export async function viewOf(services: Services, record: HarnessRecord): Promise<HarnessView> {
  const label = services.harnesses.adapter(record.base)?.label ?? record.base;
  const status = await probe(services, record.base);
  const plugins = await installedPlugins(services, { ...record, ...record.setup });
  const permissions = record.permissions ?? services.settings.permissions;
  return {
    record: { ...record, permissions },
    plugins,
    label,
    ...(status === null ? {} : { capabilities: status.capabilities }),
  };
}

async function probe({ harnesses }: Services, base: string): Promise<HarnessStatus | null> {
  return (await harnesses.adapter(base)?.probe()) ?? null;
}

/** With those of its models that the principal may use. */
async function backendOf(services: Services, principal: string, base: string): Promise<Backend> {
  const status = await probe(services, base);
  const models = (status?.models ?? []).filter(({ id }) => mayUseModel(services, principal, id));
  return { base, defaultModel: status?.defaultModel ?? '', models };
}
