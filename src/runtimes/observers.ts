import { createHookRunner, type HookName } from '../engine/hooks.ts';
import { createRunTracer } from '../engine/observe/run-tracer.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { RunEvent } from '../core/run-event.ts';

/** Who is told of what a run stored: hooks and traces. They change nothing and hold nothing up (E-901). */
export interface Observers {
  see(events: readonly RunEvent[]): void;
  /** What no event is of its own (E-560). */
  fire(hook: HookName): void;
}

export function createObservers({ hooks, tracer, engine, ref }: AssembledAgent): Observers {
  const runner = hooks.length === 0 ? null : createHookRunner(hooks, engine);
  const trace = tracer === null ? null : createRunTracer({ tracer, clock: engine.clock, agentName: ref.name });
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
  };
}
