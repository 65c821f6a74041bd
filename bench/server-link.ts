// The two ends of the pipe between the measuring process and a server under test: what the server costs, by its own count.

import { fork, type ChildProcess } from 'node:child_process';
import type { Arrivals } from './arrivals.ts';
import { startProfile } from './profile.ts';

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
  /** Resolves when so many tasks wait at the gate: a server may show that it took one in before that has come there. */
  crowdAtGate(count: number): Promise<void>;
  openGate(): void;
  closeGate(): void;
  stop(): Promise<void>;
}

type Order =
  | 'read'
  | 'open'
  | 'close'
  | 'stop'
  | { readonly openAndProfileTo: string }
  | { readonly crowdAtGate: number };
type Answer = { readonly port: number } | Reading | { readonly atGate: number };

/** With `profile`, a folder, the server is profiled while its gate is open. */
export async function startServer(
  program: string,
  args: readonly string[] = [],
  profile?: string,
): Promise<ServerUnderTest> {
  const child = fork(new URL(program, import.meta.url), args);
  const { port } = await answerOf(child, (answer) => 'port' in answer);
  const send = (order: Order) => void child.send(order);
  return {
    port,
    read() {
      send('read');
      return answerOf(child, (answer) => 'cpuMicros' in answer);
    },
    async crowdAtGate(count) {
      send({ crowdAtGate: count });
      await answerOf(child, (answer) => 'atGate' in answer);
    },
    openGate: () => send(profile === undefined ? 'open' : { openAndProfileTo: profile }),
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
export function obey(served: Served): void {
  const { port, arrivals, marks } = served;
  const answer = (value: Answer) => void process.send?.(value);
  let profile: Promise<{ stop(): Promise<void> }> | null = null;
  const closeGate = async () => {
    arrivals.close();
    await (await profile)?.stop();
    profile = null;
  };
  process.on('message', (order: Order) => {
    if (order === 'read') answer({ cpuMicros: cpuMicros(), rssBytes: process.memoryUsage.rss(), marks });
    else if (order === 'open') arrivals.open();
    else if (order === 'close') void closeGate();
    else if (order === 'stop')
      void closeGate()
        .then(() => served.close())
        .finally(() => process.exit());
    else if ('crowdAtGate' in order)
      void arrivals.crowd(order.crowdAtGate).then(() => answer({ atGate: order.crowdAtGate }));
    else profile = startProfile(order.openAndProfileTo).finally(() => arrivals.open());
  });
  // The measuring process has died.
  process.on('disconnect', () => process.exit());
  answer({ port });
}

export function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
