import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { RunShape } from './contender.ts';

/** What one run cost its process, all threads. */
export interface Cost {
  readonly cpuMicros: number;
  readonly wallMs: number;
  /** CPU count at each call of the tool. */
  readonly marks: readonly number[];
}

export interface Order {
  readonly shape: RunShape;
  /** Folder for a CPU profile of this run. */
  readonly profile?: string;
}

export interface MeasuredProcess extends Disposable {
  run(shape: RunShape, profile?: string): Promise<Cost>;
}

export function startContender(name: string): MeasuredProcess {
  const child = fork(new URL('contender-process.ts', import.meta.url), [name], { execArgv: ['--expose-gc'] });
  return {
    async run(shape, profile) {
      child.send({ shape, ...(profile === undefined ? {} : { profile }) } satisfies Order);
      return costOf(child, name);
    },
    [Symbol.dispose]: () => void child.kill(),
  };
}

async function costOf(child: ChildProcess, name: string): Promise<Cost> {
  const left = new AbortController();
  const { signal } = left;
  const gone = once(child, 'exit', { signal }).then(() => Promise.reject(new Error(`The process of ${name} ended.`)));
  const answered = once(child, 'message', { signal }).then(([cost]) => cost as Cost);
  try {
    return await Promise.race([answered, gone]);
  } finally {
    left.abort();
    gone.catch(() => undefined);
    answered.catch(() => undefined);
  }
}
