// `reins/temporal`: runs of programs scheduled by Temporal, for a runtime. Needs `@temporalio/client`, and where runs are worked
// on also `@temporalio/worker`, `@temporalio/activity`, `@temporalio/common` and `@temporalio/workflow`, all of one version.

import { openTemporal, type TemporalAddress } from './runtimes/temporal/open-temporal.ts';
import type { RuntimeDriver } from './runtime.ts';
import type { Store } from './stores/store.ts';

export interface TemporalOptions extends TemporalAddress {
  /** Of all processes that submit runs or work on them; closed with the runtime. */
  readonly store: Store;
  /** `schedule`: runs are submitted, followed and steered here, and worked on elsewhere. Absent: worked on here as well. */
  readonly role?: 'work' | 'schedule';
  /** Steps of runs that are worked on at once; one that waits for a sub-agent counts. Absent: 1,000. */
  readonly concurrent?: number;
}

/** For `createRuntime({ agents, driver: temporal({ … }) })`. Every process has the agents, also one that only schedules. */
export function temporal({ store, role = 'work', concurrent = 1_000, ...address }: TemporalOptions): RuntimeDriver {
  return {
    kind: 'scheduled',
    store,
    open: (services) => {
      const link = openTemporal(services, address);
      return role === 'work'
        ? { ...link, work: (of, watch) => link.work(of, { concurrent, watch }) }
        : { ...link, work: () => null };
    },
  };
}
