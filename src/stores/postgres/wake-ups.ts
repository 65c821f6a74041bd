// What nodes tell each other: that the log of a run has grown. A hint and nothing else: the log is the truth, and where runs
// are followed somebody looks at it each second anyway. So a word that is lost costs a moment.
//
// N1. A word goes after its commit, on the connection that listens: a NOTIFY inside a transaction holds a lock of the whole
//     cluster until that is synced. Words of one batch, or that come up meanwhile, are joined; the newest of each run counts.
//     Where nobody else was when that was last looked at, and nobody has been heard of since, none goes.
// N2. It carries run and seq only (E-803).
// N3. Listening is state of a connection: it has one of its own, past any pooler. While there is none nothing is told; once
//     there is one again, whoever listens is told that anything may have happened.

import pg from 'pg';
import { Socket } from 'node:net';
import { sleep, type Clock } from '../../core/clock.ts';
import { runIds, type RunId } from '../../core/ids.ts';
import type { NewsListener } from '../store.ts';
import { channel } from './channel.ts';
import { connectionOf } from './connections.ts';
import type { Company } from './owners.ts';

export interface WakeUps extends AsyncDisposable {
  tell(runId: RunId, lastSeq: number): void;
  listen(listener: NewsListener): () => void;
  readonly isListening: boolean;
}

const reconnectMs = 1_000;
/** Who is not answered for so long talks to nobody: a connection that nothing comes over is lost without a word. */
const silenceMs = 5_000;
/** Of a payload; PostgreSQL takes 8,000 bytes. */
const mostBytes = 7_000;

export interface WakeUpsOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly company: Company;
}

export function createWakeUps({ url, clock, company }: WakeUpsOptions): WakeUps {
  const listeners = new Set<NewsListener>();
  const untold = new Map<RunId, number>();
  const closing = new AbortController();
  let client: pg.Client | null = null;
  let lose = () => {};
  let telling: Promise<void> = Promise.resolve();
  let isTelling = false;

  const hear: NewsListener = (runId, lastSeq) => {
    for (const listener of listeners) listener(runId, lastSeq);
  };

  function hearWord(word: string): void {
    const [id = '', seq] = word.split(':');
    const runId = runIds.parse(id);
    if (runId !== undefined) hear(runId, Number(seq));
  }

  /** Resolves when the connection is gone. */
  async function listenOnce(): Promise<void> {
    const socket = new Socket();
    const own = new pg.Client({ ...connectionOf(url), query_timeout: silenceMs, stream: () => socket });
    const gone = Promise.withResolvers<void>();
    own.on('end', gone.resolve).on('error', () => gone.resolve());
    own.on('notification', ({ processId, payload = '' }) => {
      if (processId === ownProcess(own)) return;
      company.isAlone = false;
      for (const word of payload.split(',')) hearWord(word);
    });
    try {
      await own.connect();
      await own.query(`LISTEN ${channel}`);
      [client, lose] = [own, gone.resolve];
      hear(null, 0);
      await Promise.race([gone.promise, aborted(closing.signal)]);
    } catch {
      // Tried again below; polling goes on meanwhile.
    } finally {
      client = null;
      // A good-bye that nobody hears is not waited for.
      socket.destroySoon();
    }
  }

  async function stayConnected(): Promise<void> {
    while (!closing.signal.aborted) {
      await listenOnce();
      await sleep(clock, reconnectMs, closing.signal);
    }
  }

  async function tellAll(): Promise<void> {
    for (let words = nextWords(untold); words !== ''; words = nextWords(untold))
      await client?.query('SELECT pg_notify($1, $2)', [channel, words]).catch(() => lose());
    isTelling = false;
  }

  const connected = stayConnected();
  return {
    tell(runId, lastSeq) {
      if (client === null || company.isAlone) return;
      untold.set(runId, lastSeq);
      if (isTelling) return;
      isTelling = true;
      telling = Promise.resolve().then(tellAll);
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    get isListening() {
      return client !== null;
    },
    async [Symbol.asyncDispose]() {
      await telling;
      closing.abort();
      await connected;
    },
  };
}

/** Takes as many out as one payload holds. */
function nextWords(untold: Map<RunId, number>): string {
  let words = '';
  for (const [runId, seq] of untold) {
    const word = `${runId}:${seq}`;
    if (words.length + word.length >= mostBytes) break;
    words += words === '' ? word : `,${word}`;
    untold.delete(runId);
  }
  return words;
}

/** The number of its backend, which the types leave out. */
function ownProcess(client: pg.Client): unknown {
  return 'processID' in client ? client.processID : undefined;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
