import { createHookRunner, type HookName, type Hooks } from '../engine/hooks.ts';
import { createRunTracer } from '../engine/observe/run-tracer.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { RunEvent, RunEventOf } from '../core/run-event.ts';
import type { Tracer } from '@opentelemetry/api';

/** Who is told of what a run stored: hooks and traces. They change nothing and hold nothing up (E-901). */
export interface Observers {
  see(events: readonly RunEvent[]): void;
  /** What no event is of its own (E-560). */
  fire(hook: HookName): void;
  /** The leg that began so, maybe elsewhere, goes on here; then it goes on elsewhere. */
  join(start: RunEventOf<'run-started'>): void;
  leave(): void;
}

export interface ObserverOptions {
  readonly hooks: readonly Hooks[];
  readonly tracer: Tracer | null;
  /** Of the agent, for traces of runs whose log names none. */
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The observers of one run. */
export function createObservers({ hooks, tracer, name, clock, logger }: ObserverOptions): Observers {
  const runner = hooks.length === 0 ? null : createHookRunner(hooks, { clock, logger });
  const trace = tracer === null ? null : createRunTracer({ tracer, clock, agentName: name });
  let last: RunEvent | null = null;
  return {
    see(events) {
      if (runner === null && trace === null) return;
      for (const event of events) {
        runner?.fire(event);
        trace?.record(event);
        last = event;
      }
    },
    fire(hook) {
      if (last !== null) runner?.fireNamed(hook, last);
    },
    join: (start) => trace?.join(start),
    leave: () => trace?.leave(),
  };
}

export function observersOf({ hooks, tracer, engine, ref }: AssembledAgent): Observers {
  const { clock, logger } = engine;
  return createObservers({ hooks, tracer, name: ref.name, clock, logger });
}
