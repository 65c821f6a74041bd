import { deadlineOf, type RunState } from '../../core/run-state.ts';
import type { Ending } from '../../core/closing.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { UserPart } from '../../core/run-event.ts';

/** Whether calls of another reply may not run any more (H-081). */
export function roundsAreSpent({ limits: { maxToolRounds }, open, toolRounds }: RunState): boolean {
  return maxToolRounds !== null && open?.ranTools !== true && toolRounds >= maxToolRounds;
}

export function roundsEnding({ limits, toolRounds }: RunState): Ending {
  const limit = limits.maxToolRounds ?? 0;
  const budget = { budget: 'tool-rounds', limit, used: toolRounds, then: 'stop' } as const;
  return { status: 'completed', stopReason: 'max-steps', budget };
}

export function timeEnding(state: RunState, nowMs: number): Ending {
  const limit = state.limits.maxSeconds ?? 0;
  const due = deadlineOf(state);
  const used = due === null ? limit : Math.round(limit + (nowMs - due) / 1_000);
  return { status: 'completed', stopReason: 'max-time', budget: { budget: 'time', limit, used, then: 'stop' } };
}

export function harnessError(message: string): ErrorInfo {
  return { type: 'HarnessError', message, retryable: false };
}

/** The newest messages of people, as many. */
export function lastSaid({ transcript }: RunState, count: number): readonly UserPart[] {
  const users = [...transcript.messages, ...transcript.held].filter((message) => message.role === 'user');
  return users.slice(-count).flatMap(({ content }) => content);
}
