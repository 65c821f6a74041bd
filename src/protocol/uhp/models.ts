import type { HarnessId } from '../../core/ids.ts';

/** U-142. `available` is computed from credentials, never asserted (U-143). */
export type UhpModel = {
  readonly id: string;
  readonly label: string;
  readonly backend: string;
  readonly available: boolean;
  readonly default: boolean;
  /** Why it is not available, and how it would be; absent: it is. */
  readonly reins_why?: string;
};

/** A harness that could be had: its program is not here. */
export type MissingBase = { readonly base: string; readonly label: string; readonly why: string };

/** U-140: keyed by harness base (UD-85). */
export type ModelCatalog = {
  readonly backends: Readonly<Record<string, { readonly default: string; readonly models: readonly UhpModel[] }>>;
  readonly reins_not_installed?: readonly MissingBase[];
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
  readonly models: readonly {
    readonly id: string;
    readonly label: string;
    readonly available: boolean;
    readonly why: string;
  }[];
}

export function toModelCatalog({
  backends,
  missing,
}: {
  readonly backends: readonly BackendFacts[];
  readonly missing: readonly MissingBase[];
}): ModelCatalog {
  const entries = backends.map((backend) => [
    backend.base,
    { default: backend.defaultModel, models: toModels(backend, backend.defaultModel) },
  ]);
  return { backends: Object.fromEntries(entries), reins_not_installed: missing };
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
  return backend.models.map(({ id, label, available, why }) => ({
    id,
    label,
    backend: backend.base,
    available,
    default: id === defaultModel,
    ...(available ? {} : { reins_why: why }),
  }));
}
