import type { Logger } from './core/logger.ts';
import type { ModelHealth } from './engine/model-health.ts';
import type { Store } from './stores/store.ts';

/** What a provider said of when to come back outlives the process (E-215): it is kept, and what was kept is taken up. */
export function keepHealth(
  health: ModelHealth,
  { store, logger }: { readonly store: Store; readonly logger: Logger },
): void {
  const note = (cause: unknown) => logger.warn('What a provider asked for cannot be kept.', { cause: String(cause) });
  health.onTold((ref, untilMs) => void store.putModelBlock(ref, untilMs).catch(note));
  store.modelBlocks().then((known) => health.restore(known), note);
}
