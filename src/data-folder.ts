// The folder that holds everything a server keeps. Several servers may work on one: which of them has a task is in the store
// (`tasks/ownership.ts`).
//
// D1. What only one may do at a time – make the database, the first harnesses, the first key – is done under a lock that the
//     operating system drops with the process, whatever kills it: SQLite's own, on a file of its own.
// D2. What is made here is private to its owner, also where the folder itself is not. SQLite gives the files beside the
//     database the mode of the database.
// D3. Every refusal names the path and what is wrong with it.
// D4. No file that SQLite has open is opened and closed here: that would drop the locks that this process holds on it.
// D5. A folder whose servers keep their tasks in PostgreSQL says so: who forgets the address of that is told, and finds no
//     empty database in its place.

import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { ConfigurationError } from './core/errors.ts';
import { DatabaseSync } from 'node:sqlite';
import { dirname, join } from 'node:path';
import { sleep } from './core/clock.ts';
import { systemClock } from './system.ts';

/** Where the tasks of a folder's servers are. */
export type Keeps = 'sqlite' | 'postgresql';
const databaseNote = 'database';

export interface DataFolder extends Disposable {
  readonly databasePath: string;
  /** Does it while no other server does the like. @throws ConfigurationError  Another one takes too long. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** Leaves the first key where only its owner, and the command line on this machine, can read it. */
  writeKey(key: string): void;
  /** This server answers there: the command line on this machine, and who wants to stop it, find it from now on. */
  announce(url: string): void;
}

/** @throws ConfigurationError  It cannot be written, or its servers keep their tasks elsewhere (D5). */
export function openDataFolder(path: string, keeps: Keeps = 'sqlite'): DataFolder {
  const file = (name: string) => join(path, name);
  const pidFile = file('server.pid');
  attempt(`The data folder ${path} cannot be made`, () => makeFolder(path));
  requireWritable(file('server.lock'));
  if (keeps === 'postgresql') writePrivate(file(databaseNote), keeps);
  else {
    refuseElsewhere(path);
    requireWritable(file('reins.db'));
  }
  for (const beside of ['reins.db-wal', 'reins.db-shm'].map(file)) if (existsSync(beside)) requireWritable(beside);
  const servers = file('servers');
  let own: string | null = null;
  const name = ({ pid, url }: Announced) => {
    writePrivate(pidFile, String(pid));
    writePrivate(file('server.url'), url);
  };
  return {
    databasePath: file('reins.db'),
    async alone(work) {
      using _lock = await takeLock(path, file('server.lock'));
      return await work();
    },
    writeKey: (key) => writePrivate(file('key'), key),
    announce(url) {
      attempt(`The folder ${servers} cannot be made`, () => makeFolder(servers));
      own = join(servers, `${process.pid}-${URL.parse(url)?.port ?? ''}`);
      writePrivate(own, url);
      name({ pid: process.pid, url });
    },
    [Symbol.dispose]() {
      if (own === null) return;
      const url = readLine(own);
      rmSync(own, { force: true });
      if (readLine(pidFile) !== String(process.pid) || readLine(file('server.url')) !== url) return;
      // Another server of this folder is the one to be found now.
      const left = livingServers(servers)[0];
      if (left !== undefined) return name(left);
      for (const gone of [pidFile, file('server.url')]) rmSync(gone, { force: true });
    },
  };
}

/**
 * @throws ConfigurationError  The servers of this folder keep their tasks in PostgreSQL (D5).
 */
export function refuseElsewhere(path: string): void {
  if (readLine(join(path, databaseNote)) !== 'postgresql') return;
  throw new ConfigurationError(
    `The data folder ${path} is that of servers over PostgreSQL: set REINS_DATABASE_URL as they have it, or name another folder with --data. (To use it with SQLite after all, remove ${join(path, databaseNote)}.)`,
  );
}

interface Announced {
  readonly pid: number;
  readonly url: string;
}

/** What processes that are gone have left behind is removed. */
function livingServers(servers: string): readonly Announced[] {
  return readdirSync(servers).flatMap((entry) => {
    const pid = Number.parseInt(entry, 10);
    const url = readLine(join(servers, entry));
    if (url !== null && isAlive(pid)) return [{ pid, url }];
    rmSync(join(servers, entry), { force: true });
    return [];
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const lockWithinMs = 10_000;
const lockPollMs = 20;

async function takeLock(folder: string, path: string): Promise<Disposable> {
  for (let waitedMs = 0; waitedMs < lockWithinMs; waitedMs += lockPollMs) {
    const lock = attempt(`The data folder ${folder} cannot be locked`, () => tryLock(path));
    if (lock !== null) return lock;
    await sleep(systemClock, lockPollMs);
  }
  throw new ConfigurationError(
    `Another server has been starting on the data folder ${folder} for too long: stop it, or give this one its own folder with --data.`,
  );
}

/** Null while another process, or another server of this one, has it. */
function tryLock(path: string): Disposable | null {
  const lock = new DatabaseSync(path);
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return { [Symbol.dispose]: () => lock.close() };
  } catch (cause) {
    lock.close();
    if (isBusy(cause)) return null;
    throw cause;
  }
}

/** SQLITE_BUSY. */
const isBusy = (cause: unknown) => cause instanceof Error && 'errcode' in cause && cause.errcode === 5;

function readLine(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

/** Node's own recursion never ends where a folder that is there takes no others, as /proc. */
function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (cause) {
    // Another server of the folder may have been first.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw cause;
  }
}

/** Made where there is none. SQLite would open a file that it may only read, and fail at the first write. */
function requireWritable(path: string): void {
  attempt(`The file ${path} cannot be written`, () => {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) accessSync(path, constants.W_OK);
    else closeSync(openSync(path, 'a+', 0o600));
  });
}

function writePrivate(path: string, line: string): void {
  attempt(`The file ${path} cannot be written`, () => {
    writeFileSync(path, `${line}\n`, { mode: 0o600 });
    chmodSync(path, 0o600);
  });
}

function attempt<T>(failure: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    throw new ConfigurationError(`${failure}${reason}.`, { cause });
  }
}
