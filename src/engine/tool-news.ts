// What comes from the handlers of a batch, on its way into the log: what they show while they work, notices that they are
// slow, their ends, and calls whose wait for another try is over.
//
// O1. Nothing is lost or reordered for one call; pieces that come together become one event, before the call's end.
// O2. A handler is never held up: it may show at most 64 KiB before its pieces are taken, the rest is left out with a note.

import { head } from '../core/text.ts';
import type { Clock } from '../core/clock.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { Finished } from './execute-call.ts';
import type { ProgressPolicy } from './policies.ts';
import type { RunState } from '../core/run-state.ts';

const mostWaiting = 65_536;
const leftOut = '\n[Output that came too fast was left out here.]\n';

export interface ToolNews {
  show(piece: { readonly id: string; readonly name: string; readonly text: string }): void;
  /** Notices while a call of that tool goes on; the returned function ends them (E-334). */
  watch(name: string): () => void;
  finish(finished: Finished): void;
  /** The call of that id may be tried again. */
  tryAgain(id: string): void;
  /** Resolves when there is something to take. */
  filled(): Promise<void>;
  take(): {
    readonly shown: readonly EventDraft[];
    readonly finished: readonly Finished[];
    readonly due: readonly string[];
  };
  close(): void;
}

export function createToolNews(o: {
  readonly clock: Clock;
  readonly progress: ProgressPolicy;
  readonly current: () => RunState;
}): ToolNews {
  const { clock, progress } = o;
  const texts = new Map<string, { readonly name: string; text: string; cut: boolean }>();
  let notices: EventDraft[] = [];
  let finished: Finished[] = [];
  let due: string[] = [];
  let wake: PromiseWithResolvers<void> | null = null;
  const stops = new Set<() => void>();
  const position = () => ({ step: o.current().step, attempt: o.current().open?.attempt ?? 0 });
  const fill = () => {
    wake?.resolve();
    wake = null;
  };
  return {
    show({ id, name, text }) {
      if (text === '') return;
      const known = texts.get(id) ?? { name, text: '', cut: false };
      known.cut ||= known.text.length + text.length > mostWaiting;
      known.text = head(known.text + text, mostWaiting);
      texts.set(id, known);
      fill();
    },
    watch(name) {
      if (!progress.tools || progress.firstAfterSeconds === null) return () => {};
      const startedAtMs = clock.now();
      const notice = () => {
        const seconds = Math.round((clock.now() - startedAtMs) / 100) / 10;
        notices.push({ type: 'waiting', data: { on: 'tool', seconds, name }, ...position() });
        fill();
        cancel = clock.timer(progress.repeatEverySeconds * 1000, notice);
      };
      let cancel = clock.timer(progress.firstAfterSeconds * 1000, notice);
      const stop = () => cancel();
      stops.add(stop);
      return stop;
    },
    finish(end) {
      finished.push(end);
      fill();
    },
    tryAgain(id) {
      due.push(id);
      fill();
    },
    async filled() {
      if (texts.size > 0 || notices.length + finished.length + due.length > 0) return;
      await (wake ??= Promise.withResolvers<void>()).promise;
    },
    take() {
      const pieces = [...texts].map(([id, { name, text, cut }]): EventDraft => ({
        type: 'tool-output-delta',
        data: { id, name, text: cut ? text + leftOut : text },
        ...position(),
      }));
      const taken = { shown: [...pieces, ...notices], finished, due };
      texts.clear();
      [notices, finished, due] = [[], [], []];
      return taken;
    },
    close() {
      for (const stop of stops) stop();
    },
  };
}
