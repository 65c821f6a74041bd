import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { RunShape } from './contender.ts';

/** What one run cost its process, all threads. */
export interface Cost {
  readonly cpuMicros: number;
  /** The count of its CPU at each call of the tool. */
  readonly marks: readonly number[];
}

export interface Order {
  readonly shape: RunShape;
  /** Runs that count; one that does not comes before them. */
  readonly times: number;
  /** Folder for a CPU profile of them. */
  readonly profile?: string | undefined;
}

export interface MeasuredProcess extends Disposable {
  readonly name: string;
  readonly run: (order: Order) => Promise<readonly Cost[]>;
}

export function startContender(name: string): MeasuredProcess {
  const child = fork(new URL('contender-process.ts', import.meta.url), [name]);
  return {
    name,
    run(order) {
      child.send(order);
      return costsOf(child, name);
    },
    [Symbol.dispose]: () => void child.kill(),
  };
}

async function costsOf(child: ChildProcess, name: string): Promise<readonly Cost[]> {
  const left = new AbortController();
  const { signal } = left;
  const gone = once(child, 'exit', { signal }).then(() => Promise.reject(new Error(`The process of ${name} ended.`)));
  const answered = once(child, 'message', { signal }).then(([costs]): readonly Cost[] => costs);
  try {
    return await Promise.race([answered, gone]);
  } finally {
    left.abort();
    gone.catch(() => undefined);
    answered.catch(() => undefined);
  }
}
