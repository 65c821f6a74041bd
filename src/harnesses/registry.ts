import type { HarnessAdapter } from './harness.ts';

/** The adapters of this server by base, the preferred one first (H-001). */
export interface HarnessRegistry {
  readonly bases: readonly string[];
  adapter(base: string): HarnessAdapter | undefined;
}

export function createRegistry(adapters: readonly HarnessAdapter[]): HarnessRegistry {
  const byBase = new Map(adapters.map((adapter) => [adapter.base, adapter]));
  return { bases: [...byBase.keys()], adapter: (base) => byBase.get(base) };
}
