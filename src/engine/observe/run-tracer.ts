// Traces of a run: OpenTelemetry spans as one more projection of its events (E-907), under the semantic names for generative
// AI. Only the API package is known here: without an SDK each span is a no-op.
//
// T1. `invoke_agent` spans a leg; in it `chat` spans each attempt at a reply (step, attempt), and `execute_tool` each call
//     that was dispatched (executionKey). Times are those of the events.
// T2. Every span ends: by its own event, by the leg's `run-result`, by the `run-started` behind a crash, by dispose, or because
//     the leg goes on elsewhere, where another span begins.
// T3. Only what failed is an error: no cancel, park, spent budget, steered attempt or denied call.
// T4. What people, models and tools said is in no span, nor are private fields (E-104).
// T5. A leg that nobody records costs one span and is not folded.

import { context, type Context, type Tracer } from '@opentelemetry/api';
import type { Clock } from '../../core/clock.ts';
import type { RunEvent, RunEventOf } from '../../core/run-event.ts';
import { acceptReply, beginIfDue, hearReply, resetAttempt, startStep, switchModel } from './trace-attempts.ts';
import { endAll, endByResult, note, startLeg, type Fault, type TracedLeg } from './trace-leg.ts';
import { completeTool, dispatchTool } from './trace-tools.ts';

export interface RunTracerOptions {
  readonly tracer: Tracer;
  readonly clock: Clock;
  /** For a run whose log names none. */
  readonly agentName?: string;
  /** Default: the context that is active now. */
  readonly parent?: Context;
}

/** The trace of one run. Disposing it ends what is open: nobody follows the run here any more. */
export interface RunTracer extends Disposable {
  /** Takes the stored events of the run in order. Those before the first `run-started` that it gets leave no trace. */
  record(event: RunEvent): void;
  /** The leg that began so, maybe elsewhere, goes on here. */
  join(start: RunEventOf<'run-started'>): void;
  /** It goes on elsewhere. */
  leave(): void;
}

export function createRunTracer(options: RunTracerOptions): RunTracer {
  const { tracer, clock, agentName, parent = context.active() } = options;
  let leg: TracedLeg | null = null;

  function cut(atMs: number, fault: Fault): void {
    if (leg === null) return;
    beginIfDue(leg, atMs);
    endAll(leg, atMs, fault);
    leg = null;
  }

  return {
    join(start) {
      leg = startLeg({ ...start, at: clock.now() }, { tracer, parent, agentName });
    },
    leave() {
      if (leg !== null) endAll(leg, clock.now(), null);
      leg = null;
    },
    record(event) {
      if (event.agentPath !== undefined && event.agentPath.length > 0) return; // A sub-agent's: no step of this run (E-114).
      if (event.type === 'run-started') {
        cut(leg?.lastAtMs ?? event.at, { type: 'crash' });
        leg = startLeg(event, { tracer, parent, agentName });
      }
      if (leg === null) return;
      leg.lastAtMs = event.at;
      fold(leg, event);
      if (event.type === 'run-result') leg = null;
    },
    [Symbol.dispose]: () => cut(clock.now(), { type: 'worker-lost' }),
  };
}

function fold(leg: TracedLeg, event: RunEvent): void {
  switch (event.type) {
    case 'step-started':
      return startStep(leg, event);
    case 'text-delta':
    case 'thinking-delta':
    case 'tool-call-delta':
      return hearReply(leg, event.at);
    case 'turn-complete':
      return acceptReply(leg, event);
    case 'attempt-reset':
      return resetAttempt(leg, event);
    case 'model-switched':
      return switchModel(leg, event);
    case 'tool-call-start':
      if (event.data.willRun) leg.calls.set(event.data.executionKey, event.data);
      return;
    case 'tool-dispatched':
      return dispatchTool(leg, event);
    case 'tool-call-complete':
      return completeTool(leg, event);
    case 'run-result':
      beginIfDue(leg, event.at);
      return endByResult(leg, event);
    case 'compacted': {
      const { trigger, method, tokensBefore, tokensAfter } = event.data;
      return note(leg, event, { trigger, method, tokens_before: tokensBefore, tokens_after: tokensAfter });
    }
    case 'budget-reached':
      return note(leg, event, { ...event.data });
    case 'approval-required':
    case 'recovery-required':
      return note(leg, event, { kind: event.data.kind, tool: event.data.call.name });
    case 'run-started':
    case 'user-message':
    case 'text-complete':
    case 'thinking-complete':
    case 'tool-result':
    case 'waiting':
    case 'tool-output-delta':
    case 'todos-updated':
    case 'file-changed':
    case 'approval-decided':
    case 'step-finished':
    case 'gap':
    case 'error':
      return;
    default:
      event satisfies never;
  }
}
