import { ReinsError } from '../../core/errors.ts';
import type { JsonValue } from '../../core/json.ts';

/** Who was asked is gone. */
export class PeerGone extends ReinsError {}

/** Requests to a program that wait for their answers, told apart by a number. */
export interface PendingAnswers<T> {
  /** Rejects with `PeerGone`, or as the answer does. */
  ask(send: (id: number) => void): Promise<T>;
  /** What waits under that id, once; undefined: nothing does. */
  take(id: JsonValue | undefined): PromiseWithResolvers<T> | undefined;
  /** Whoever waits is told, and whoever asks after it. */
  close(why: string): void;
}

export function createPendingAnswers<T>(): PendingAnswers<T> {
  const waiting = new Map<number, PromiseWithResolvers<T>>();
  let next = 1;
  let closed: string | null = null;
  return {
    ask(send) {
      if (closed !== null) return Promise.reject(new PeerGone(closed));
      const id = next++;
      const answer = Promise.withResolvers<T>();
      waiting.set(id, answer);
      send(id);
      return answer.promise;
    },
    take(id) {
      const answer = waiting.get(Number(id));
      waiting.delete(Number(id));
      return answer;
    },
    close(why) {
      closed = why;
      for (const { reject } of waiting.values()) reject(new PeerGone(why));
      waiting.clear();
    },
  };
}
