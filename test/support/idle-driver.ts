import type { RuntimeDriver } from '../../src/runtime.ts';
import type { RunWatch } from '../../src/runtimes/watch-runs.ts';
import type { Services } from '../../src/tasks/services.ts';
import type { Store } from '../../src/stores/store.ts';

/** A scheduler that starts nothing: a test asks for each piece of work itself. @param onWorker  Told what a worker has. */
export function idleDriver(
  store: Store,
  onWorker: (worker: { readonly services: Services; readonly watch: RunWatch }) => void,
): RuntimeDriver {
  return {
    kind: 'scheduled',
    store,
    open: () => ({
      scheduler: {
        takes: () => true,
        start: async () => {},
        wake: async () => {},
        tend: async (runs) => new Set(runs.map(({ runId }) => runId)),
      },
      work(services, watch) {
        onWorker({ services, watch });
        return null;
      },
      close: async () => {},
    }),
  };
}
