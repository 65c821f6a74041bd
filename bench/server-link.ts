// The two ends of the pipe between the measuring process and a server under test: what the server costs, by its own count.

import { fork, type ChildProcess } from 'node:child_process';
import type { Arrivals } from './arrivals.ts';

export interface Reading {
  /** User and system time of the whole process, all threads. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
  /** CPU at certain events of a long task, by event index. */
  readonly marks: readonly { readonly event: number; readonly cpuMicros: number }[];
}

export interface ServerUnderTest {
  readonly port: number;
  read(): Promise<Reading>;
  openGate(): void;
  closeGate(): void;
  stop(): Promise<void>;
}

type Order = 'read' | 'open' | 'close' | 'stop';
type Answer = { readonly port: number } | Reading;

export interface StartOptions {
  readonly args?: readonly string[];
  /** Folder for a CPU profile of the server. */
  readonly profile?: string | undefined;
}

export async function startServer(program: string, { args = [], profile }: StartOptions = {}): Promise<ServerUnderTest> {
  const execArgv = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const child = fork(new URL(program, import.meta.url), args, { execArgv });
  const { port } = await answerOf(child, (answer) => 'port' in answer);
  const send = (order: Order) => void child.send(order);
  return {
    port,
    read() {
      send('read');
      return answerOf(child, (answer) => 'cpuMicros' in answer);
    },
    openGate: () => send('open'),
    closeGate: () => send('close'),
    async stop() {
      send('stop');
      await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}

function answerOf<T extends Answer>(child: ChildProcess, fits: (answer: Answer) => answer is T): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`The server under test ended with ${code}.`));
    const onMessage = (answer: Answer) => {
      if (!fits(answer)) return;
      child.off('message', onMessage).off('exit', onExit);
      resolve(answer);
    };
    child.on('message', onMessage).on('exit', onExit);
  });
}

export interface Served {
  readonly port: number;
  readonly arrivals: Arrivals;
  readonly marks: Reading['marks'];
  close(): Promise<void>;
}

/** The server's end: answers orders until it is told to stop. */
export function obey({ port, arrivals, marks, close }: Served): void {
  const answer = (value: Answer) => void process.send?.(value);
  process.on('message', (order: Order) => {
    switch (order) {
      case 'read':
        return answer({ cpuMicros: cpuMicros(), rssBytes: process.memoryUsage.rss(), marks });
      case 'open':
        return arrivals.open();
      case 'close':
        return arrivals.close();
      case 'stop':
        void close().finally(() => process.exit());
    }
  });
  // The measuring process has died.
  process.on('disconnect', () => process.exit());
  answer({ port });
}

export function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
