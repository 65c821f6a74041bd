// The watches over one model call: first event, idle, whole call, and the notices that fill a silence (E-301 to E-304, E-330).
//
// W1. Upstream chunks are what counts, before any queue: back-pressure neither hides a stall nor causes one (E-305).
// W2. `touch` is free: no timer is made or moved for a chunk; a timer that fires early re-arms for the rest.
// W3. After `stop` no timer is left and nothing is called back.
// W4. A byte that is no chunk proves a connection and no progress, except where the provider's entry says so (E-302). It
//     never ends a wait: only a chunk does (E-330).

import { CallTimeoutError, IncompleteStreamError } from '../core/errors.ts';
import type { Clock } from '../core/clock.ts';
import type { ProgressPolicy } from './policies.ts';

export interface WatchLimits {
  readonly firstEventMs: number | null;
  readonly idleMs: number | null;
  readonly callMs: number;
}

export interface Notice {
  /** Waited so far, one decimal. */
  readonly seconds: number;
  /** Age of the newest byte; null before the first. */
  readonly lastByteMs: number | null;
}

export interface Watch {
  /** Upstream made progress: a chunk that is no ping. */
  touch(): void;
  /** Upstream sent something. */
  byte(): void;
  /** Nobody reads upstream for now, so its silence means nothing; the whole-call limit goes on. */
  pause(): void;
  resume(): void;
  stop(): void;
}

export interface WatchOptions {
  readonly clock: Clock;
  readonly limits: WatchLimits;
  readonly progress: ProgressPolicy;
  readonly keepAliveIsProgress: boolean;
  onNotice(notice: Notice): void;
  onExpired(error: IncompleteStreamError | CallTimeoutError): void;
}

export function startWatch(options: WatchOptions): Watch {
  const { clock, limits, progress, keepAliveIsProgress } = options;
  let lastChunkMs = clock.now();
  let lastByteMs: number | null = null;
  let chunks = 0;
  let paused = false;
  const silent = () => (paused ? 0 : clock.now() - lastChunkMs);
  const idle = () =>
    keepAliveIsProgress && lastByteMs !== null ? Math.min(silent(), clock.now() - lastByteMs) : silent();
  const idleLimit = () => (chunks === 0 ? (limits.firstEventMs ?? limits.idleMs) : limits.idleMs);
  const cancels = new Map<string, () => void>();
  const stop = () => {
    for (const cancel of cancels.values()) cancel();
    cancels.clear();
  };
  const arm = (name: string, ms: number, callback: () => void) => cancels.set(name, clock.timer(ms, callback));

  function watchIdle(): void {
    const limit = idleLimit();
    if (limit === null) return;
    if (idle() < limit) return void arm('idle', limit - idle(), watchIdle);
    stop();
    options.onExpired(
      new IncompleteStreamError('stalled', `The model sent nothing for ${Math.round(limit / 1000)} seconds.`),
    );
  }

  /** `said`: the moment, in ms of this silence, of the newest notice. */
  function watchSilence(waitFromMs: number, saidMs: number | null): void {
    if (progress.firstAfterSeconds === null) return;
    const repeated = lastChunkMs === waitFromMs ? saidMs : null;
    const due = repeated === null ? progress.firstAfterSeconds * 1000 : repeated + progress.repeatEverySeconds * 1000;
    const from = lastChunkMs;
    if (silent() < due) return void arm('notice', due - silent(), () => watchSilence(from, repeated));
    const seconds = Math.round(silent() / 100) / 10;
    options.onNotice({ seconds, lastByteMs: lastByteMs === null ? null : clock.now() - lastByteMs });
    arm('notice', progress.repeatEverySeconds * 1000, () => watchSilence(from, due));
  }

  arm('call', limits.callMs, () => {
    stop();
    options.onExpired(
      new CallTimeoutError(`The model call took longer than ${Math.round(limits.callMs / 1000)} seconds.`),
    );
  });
  watchIdle();
  watchSilence(lastChunkMs, null);
  return {
    touch() {
      lastByteMs = lastChunkMs = clock.now();
      chunks += 1;
    },
    byte() {
      lastByteMs = clock.now();
    },
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
      lastChunkMs = clock.now();
    },
    stop,
  };
}
