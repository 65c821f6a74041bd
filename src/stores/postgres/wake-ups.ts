// What nodes tell each other: that the log of a run has grown. A hint and nothing else: the log is the truth, and where runs
// are followed somebody looks at it each second anyway. So a word that is lost costs a moment.
//
// N1. A word goes after its commit, on the connection that listens: a NOTIFY inside a transaction holds a lock of the whole
//     cluster until that is synced. Words of one batch, or that come up meanwhile, are joined; the newest of each run counts.
//     Where nobody else was when that was last looked at, and nobody has been heard of since, none goes.
// N2. It carries run and seq only (E-803).
// N3. Listening is state of a connection: it has one of its own, past any pooler. While there is none nothing is told; once
//     there is one again, whoever listens is told that anything may have happened. Who only listens would not notice that it
//     has none: so the other end is asked for a word now and then.

import pg from 'pg';
import { Socket } from 'node:net';
import { sleep, type Clock } from '../../core/clock.ts';
import { runIds, type RunId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
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
const lookMs = 20_000;
/** Who is not answered for so long talks to nobody: a connection that nothing comes over is lost without a word. */
const silenceMs = 5_000;
/** Of a payload; PostgreSQL takes 8,000 bytes. */
const mostBytes = 7_000;

export interface WakeUpsOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly company: Company;
  readonly logger: Logger;
}

export function createWakeUps({ url, clock, company, logger }: WakeUpsOptions): WakeUps {
  const listeners = new Set<NewsListener>();
  const untold = new Map<RunId, number>();
  const closing = new AbortController();
  let client: pg.Client | null = null;
  let lose = () => {};
  let telling: Promise<void> = Promise.resolve();
  let isTelling = false;
  let isFailing = false;

  const hear: NewsListener = (runId, lastSeq) => {
    for (const listener of listeners) listener(runId, lastSeq);
  };

  function hearWord(word: string): void {
    const [id = '', seq = ''] = word.split(':');
    const runId = runIds.parse(id);
    if (runId !== undefined && /^\d{1,15}$/.test(seq)) hear(runId, Number(seq));
  }

  /** Resolves when the connection is gone. */
  async function listenOnce(): Promise<void> {
    const socket = new Socket();
    const gone = Promise.withResolvers<void>();
    try {
      const own = new pg.Client({ ...connectionOf(url), query_timeout: silenceMs, stream: () => socket });
      own.on('end', gone.resolve).on('error', () => gone.resolve());
      own.on('notification', ({ processId, payload = '' }) => {
        if (processId === ownProcess(own)) return;
        company.isAlone = false;
        for (const word of payload.split(',')) hearWord(word);
      });
      await own.connect();
      await own.query(`LISTEN ${channel}`);
      [client, lose, isFailing] = [own, gone.resolve, false];
      hear(null, 0);
      await Promise.race([gone.promise, silent(own, clock, closing.signal)]);
    } catch (cause) {
      noteFailure(cause);
    } finally {
      client = null;
      // A good-bye that nobody hears is not waited for.
      socket.destroySoon();
    }
  }

  /** Tried again each second, and polling goes on meanwhile: once for all of these tries somebody is told. */
  function noteFailure(cause: unknown): void {
    if (isFailing || closing.signal.aborted) return;
    isFailing = true;
    const reason = cause instanceof Error ? cause.message : String(cause);
    logger.warn(
      'This server hears of others by looking each second alone: it cannot listen at REINS_DATABASE_LISTEN_URL, or where that is not set at REINS_DATABASE_URL.',
      { reason },
    );
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

/** Resolves when it is not answered any more, or at the signal. */
async function silent(client: pg.Client, clock: Clock, signal: AbortSignal): Promise<void> {
  for (let isHeard = true; isHeard;) {
    await sleep(clock, lookMs, signal);
    if (signal.aborted) return;
    const answer = client.query('SELECT 1').then(
      () => true,
      () => false,
    );
    isHeard = await Promise.race([answer, sleep(clock, silenceMs, signal).then(() => false)]);
  }
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
