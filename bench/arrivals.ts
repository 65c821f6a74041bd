import type { TaskShape } from './task-shape.ts';

/** Lets events arise: the same code, at the same cost, in both servers. */
export interface Arrivals {
  /** Lets all that wait at the gate begin. */
  open(): void;
  /** Closes the gate again, for the next round. */
  close(): void;
  /** Resolves when so many wait at the gate. */
  crowd(count: number): Promise<void>;
  /** What to await before event `index` of a task, or undefined when it is there now. */
  before(shape: TaskShape, index: number): Promise<void> | undefined;
}

interface Tick extends PromiseWithResolvers<void> {
  readonly everyMs: number;
  readonly phase: number;
}

export function createArrivals(): Arrivals {
  const ticks = new Map<number, Tick>();
  let gate = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | null = null;
  let nowMs = 0;
  let atGate = 0;
  let crowd = { count: Number.POSITIVE_INFINITY, ...Promise.withResolvers<void>() };

  function beat(): void {
    if (ticks.size === 0) return stop();
    // A late beat makes up for those it missed: every waiting stream whose moment has passed goes on, once.
    const untilMs = Math.floor(performance.now());
    for (const [key, tick] of ticks) {
      const sincePhase = (untilMs - tick.phase) % tick.everyMs;
      if (untilMs - sincePhase <= nowMs) continue;
      ticks.delete(key);
      tick.resolve();
    }
    nowMs = untilMs;
  }

  function stop(): void {
    clearInterval(timer ?? undefined);
    timer = null;
  }

  function nextTick(everyMs: number, phase: number): Promise<void> {
    const key = everyMs * 1_000 + phase;
    const known = ticks.get(key);
    if (known !== undefined) return known.promise;
    const tick = { everyMs, phase, ...Promise.withResolvers<void>() };
    ticks.set(key, tick);
    timer ??= setInterval(beat, 1);
    return tick.promise;
  }

  function waitAtGate(): Promise<void> {
    atGate += 1;
    if (atGate >= crowd.count) crowd.resolve();
    return gate.promise;
  }

  return {
    open: () => gate.resolve(),
    close() {
      gate = Promise.withResolvers();
      atGate = 0;
    },
    crowd(count) {
      crowd = { count, ...Promise.withResolvers<void>() };
      if (atGate >= count) crowd.resolve();
      return crowd.promise;
    },
    before(shape, index) {
      if (shape.kind !== 'steady') return undefined;
      if (index === 0) return waitAtGate();
      return index % shape.perTick === 0 ? nextTick(shape.everyMs, shape.phase) : undefined;
    },
  };
}
