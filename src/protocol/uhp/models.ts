import type { HarnessId } from '../../core/ids.ts';

/** U-142. `available` is computed from credentials, never asserted (U-143). */
export type UhpModel = {
  readonly id: string;
  readonly label: string;
  readonly backend: string;
  readonly available: boolean;
  readonly default: boolean;
};

/** U-140: keyed by harness base (UD-85). */
export type ModelCatalog = {
  readonly backends: Readonly<Record<string, { readonly default: string; readonly models: readonly UhpModel[] }>>;
};

/** U-141. `fallback` is there only where a harness opted in to substitution (UD-85). */
export type HarnessModels = {
  readonly harness_id: HarnessId;
  readonly backend: string;
  readonly default: string;
  readonly models: readonly UhpModel[];
};

export interface BackendFacts {
  readonly base: string;
  readonly defaultModel: string;
  readonly models: readonly { readonly id: string; readonly label: string; readonly available: boolean }[];
}

export function toModelCatalog(backends: readonly BackendFacts[]): ModelCatalog {
  const entries = backends.map((backend) => [
    backend.base,
    { default: backend.defaultModel, models: toModels(backend, backend.defaultModel) },
  ]);
  return { backends: Object.fromEntries(entries) };
}

/** @param defaultModel  The harness's own default; null = its base's. */
export function toHarnessModels(
  harnessId: HarnessId,
  backend: BackendFacts,
  defaultModel: string | null,
): HarnessModels {
  const chosen = defaultModel ?? backend.defaultModel;
  return { harness_id: harnessId, backend: backend.base, default: chosen, models: toModels(backend, chosen) };
}

function toModels(backend: BackendFacts, defaultModel: string): UhpModel[] {
  return backend.models.map(({ id, label, available }) => ({
    id,
    label,
    backend: backend.base,
    available,
    default: id === defaultModel,
  }));
}
