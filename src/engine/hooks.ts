// Hooks: what happens in a run, told to code of its owner (E-901). They observe and change nothing.
//
// K1. A hook is told of what is stored, in the order of the log, one notice at a time; the run never waits for it.
// K2. It gets a frozen copy without private fields (E-104).
// K3. One that throws is logged and counted. One that takes longer than 5 s is cut, which is the same, and the next one goes on.
// K4. What waits is bounded: beyond 10,000 notices the oldest are left out, and counted.
// K5. After a crash the same notice may come again, under the same `eventId`.

import { deepFreeze } from '../core/deep-freeze.ts';
import type { Clock } from '../core/clock.ts';
import type { JsonValue } from '../core/json.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { publicEvent, type PublicEvent } from '../core/public-event.ts';
import { isLostWithOwner, type RunEvent, type RunEventOf } from '../core/run-event.ts';

/**
 * `model-request` comes before attempt 1 of a step, and with the reset that announces the next attempt: before its wait.
 * `tool-start` comes once for each time the handler is called, `tool-end` once for each call, run or refused.
 * `skill-invoked` and `sandbox-exec` follow the `tool-start` of `read_skill` and `bash`; `checkpoint` follows `step-end`,
 * when a step is whole in the log; `recovery` is an attempt lost with its process, `retry` any other that is given up.
 */
export type HookName =
  | 'run-start'
  | 'run-end'
  | 'step-start'
  | 'step-end'
  | 'model-request'
  | 'model-response'
  | 'tool-start'
  | 'tool-end'
  | 'retry'
  | 'recovery'
  | 'repetition'
  | 'compacted'
  | 'todos-updated'
  | 'checkpoint'
  | 'error'
  | 'skill-invoked'
  | 'sandbox-exec';

export interface HookPayload {
  readonly hook: HookName;
  readonly event: PublicEvent;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly step: number;
  /** The attempt that is meant: of a `model-request` the one to come. 0 where no attempt is. */
  readonly attempt: number;
  /** The same whenever the same notice is given. */
  readonly eventId: string;
  /** The call that starts; absent in other hooks, and where it was announced to a process that is gone. */
  readonly call?: { readonly id: string; readonly name: string; readonly input: JsonValue };
}

export type Hook = (payload: HookPayload) => void | Promise<void>;
export type Hooks = { readonly [N in HookName]?: Hook };

/** The hooks of one run. */
export interface HookRunner {
  /** Takes each event once it is stored. Returns at once. */
  fire(event: RunEvent): void;
  /** For what no event is of its own, such as a `repetition`, told with the event that shows it. */
  fireNamed(hook: HookName, event: RunEvent): void;
}

export interface HookSettings {
  readonly clock: Clock;
  readonly logger: Logger;
}

type StartedCall = RunEventOf<'tool-call-start'>['data'];

interface Notice {
  readonly hook: HookName;
  readonly event: RunEvent;
  readonly call: StartedCall | undefined;
}

const longestMs = 5_000;
const mostWaiting = 10_000;

/** @param hooks  One observer, or several, which are told one after the other. */
export function createHookRunner(hooks: Hooks | readonly Hooks[], { clock, logger }: HookSettings): HookRunner {
  const observers = [hooks].flat();
  const waiting: Notice[] = [];
  const calls = new Map<string, StartedCall>();
  const callOf = (event: RunEvent) =>
    event.type === 'tool-dispatched' ? calls.get(event.data.executionKey) : undefined;
  let working = false;
  let [failures, dropped] = [0, 0];

  function tell(hook: HookName, event: RunEvent): void {
    if (observers.every((observer) => observer[hook] === undefined)) return;
    if (waiting.length >= mostWaiting) {
      waiting.shift();
      dropped++;
    }
    waiting.push({ hook, event, call: callOf(event) });
    if (!working) void work();
  }

  async function work(): Promise<void> {
    working = true;
    await Promise.resolve(); // The run goes on first (K1).
    for (let notice = waiting.shift(); notice !== undefined; notice = waiting.shift()) {
      const payload = payloadOf(notice);
      for (const observer of observers) if (observer[notice.hook] !== undefined) await observe(observer, payload);
    }
    working = false;
    if (dropped > 0) logger.warn('Hooks fell behind; the oldest notices were left out.', { dropped });
    dropped = 0;
  }

  async function observe(observer: Hooks, payload: HookPayload): Promise<void> {
    const { runId, hook, eventId } = payload;
    try {
      await callHook(observer, payload, clock);
    } catch (cause) {
      logger.error('A hook failed.', { runId, hook, eventId, failures: ++failures }, cause);
    }
  }

  return {
    fire(event) {
      if (event.type === 'tool-call-start' && event.data.willRun) calls.set(event.data.executionKey, event.data);
      for (const hook of hooksOf(event, callOf(event))) tell(hook, event);
      if (event.type === 'tool-call-complete') calls.delete(event.data.executionKey);
    },
    fireNamed: tell,
  };
}

/** Rejects when the hook fails, or takes too long; what it does after that is nobody's. */
async function callHook(observer: Hooks, payload: HookPayload, clock: Clock): Promise<void> {
  const cut = Promise.withResolvers<never>();
  const cancel = clock.timer(longestMs, () => cut.reject(new Error(`It took longer than ${longestMs} ms.`)));
  try {
    await Promise.race([observer[payload.hook]?.(payload), cut.promise]);
  } finally {
    cancel();
  }
}

const none: readonly HookName[] = [];

/** @param call  The call that a `tool-dispatched` starts, where it is known. */
function hooksOf(event: RunEvent, call: StartedCall | undefined): readonly HookName[] {
  switch (event.type) {
    case 'run-started':
      return ['run-start'];
    case 'run-result':
      return ['run-end'];
    case 'step-started':
      return ['step-start', 'model-request'];
    case 'step-finished':
      return ['step-end', 'checkpoint'];
    case 'turn-complete':
      return ['model-response'];
    case 'attempt-reset':
      return [isLostWithOwner(event.data.reason) ? 'recovery' : 'retry', 'model-request'];
    case 'tool-dispatched':
      if (call?.name === 'read_skill') return ['tool-start', 'skill-invoked'];
      return call?.name === 'bash' ? ['tool-start', 'sandbox-exec'] : ['tool-start'];
    case 'tool-call-complete':
      return ['tool-end'];
    case 'compacted':
    case 'todos-updated':
    case 'error':
      return [event.type];
    case 'user-message':
    case 'text-delta':
    case 'thinking-delta':
    case 'tool-call-delta':
    case 'tool-output-delta':
    case 'thinking-complete':
    case 'text-complete':
    case 'model-switched':
    case 'waiting':
    case 'tool-call-start':
    case 'tool-result':
    case 'file-changed':
    case 'approval-required':
    case 'recovery-required':
    case 'approval-decided':
    case 'budget-reached':
    case 'gap':
      return none;
    default:
      event satisfies never;
      return none;
  }
}

function payloadOf({ hook, event, call }: Notice): HookPayload {
  const { runId, sessionId, step, seq } = event;
  const place = { runId, sessionId, step, attempt: attemptOf(hook, event), eventId: `${runId}:${seq}` };
  const started = call === undefined ? {} : { call: { id: call.id, name: call.name, input: call.input } };
  return deepFreeze(structuredClone({ hook, event: publicEvent(event), ...place, ...started }));
}

function attemptOf(hook: HookName, event: RunEvent): number {
  if (hook !== 'model-request') return event.attempt;
  return event.type === 'attempt-reset' ? event.data.nextAttempt : 1;
}
