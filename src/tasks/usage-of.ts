import { dayAround, limitsOfPrincipal, spentToday } from './principal-limits.ts';
import type { Services } from './services.ts';

/** Times are Unix seconds. Absent limit: there is none. */
export interface UsedOf {
  readonly used: number;
  readonly limit?: number;
  /** When less of it counts as used; absent: it is not known, or nothing is used. */
  readonly resetsAt?: number;
}

export interface PrincipalUsage {
  /** The day of UTC that the last three count. */
  readonly day: { readonly startsAt: number; readonly resetsAt: number };
  /** Begun within a minute. */
  readonly tasks: UsedOf;
  readonly running: UsedOf;
  readonly tokens: UsedOf;
  readonly dollars: UsedOf;
  readonly uploadBytes: UsedOf;
}

const minuteMs = 60_000;

/** What a principal has used of what it may (UR-43). Tasks at work are charged when they end. */
export async function usageOf(services: Services, principal: string): Promise<PrincipalUsage> {
  const nowMs = services.clock.now();
  const limits = limitsOfPrincipal(services, principal);
  const { running, begun, oldestAtMs } = await services.store.taskCounts(principal, nowMs - minuteMs);
  const spent = await spentToday(services, principal);
  const day = dayAround(nowMs);
  const ofDay = (used: number, limit: number | null) => ({ ...usedOf(used, limit), resetsAt: day.resetsAt });
  return {
    day,
    tasks: {
      ...usedOf(begun, limits.tasksPerMinute),
      ...(oldestAtMs === null ? {} : { resetsAt: Math.ceil((oldestAtMs + minuteMs) / 1_000) }),
    },
    running: usedOf(running, limits.runningTasks),
    tokens: ofDay(spent.tokens, limits.tokensPerDay),
    dollars: ofDay(spent.dollars, limits.dollarsPerDay),
    uploadBytes: ofDay(spent.uploadBytes, limits.uploadBytesPerDay),
  };
}

function usedOf(used: number, limit: number | null): UsedOf {
  return limit === null ? { used } : { used, limit };
}
