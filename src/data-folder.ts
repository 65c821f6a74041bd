// The folder that holds everything a server keeps, and the proof that this process alone works on it.
//
// D1. The lock is one that the operating system drops with the process, whatever kills it: SQLite's own, on a file of its own.
// D2. What is made here is private to its owner, also where the folder itself is not. SQLite gives the files beside the
//     database the mode of the database.
// D3. Every refusal names the path and what is wrong with it.

import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigurationError } from './core/errors.ts';

/** Owned by one server process at a time. */
export interface DataFolder extends Disposable {
  readonly databasePath: string;
  /** Leaves the first key where only its owner, and the command line on this machine, can read it. */
  writeKey(key: string): void;
}

/**
 * Takes the folder for this process.
 * @throws ConfigurationError  Another server works on it, or it cannot be written.
 */
export function openDataFolder(path: string): DataFolder {
  const file = (name: string) => join(path, name);
  attempt(`The data folder ${path} cannot be made`, () => mkdirSync(path, { recursive: true, mode: 0o700 }));
  const lock = takeLock(path, file);
  try {
    requireWritable(file('reins.db'));
    for (const beside of ['reins.db-wal', 'reins.db-shm'].map(file)) if (existsSync(beside)) requireWritable(beside);
    writePrivate(file('server.pid'), String(process.pid));
  } catch (cause) {
    lock.close();
    throw cause;
  }
  return {
    databasePath: file('reins.db'),
    writeKey: (key) => writePrivate(file('key'), key),
    [Symbol.dispose]() {
      rmSync(file('server.pid'), { force: true });
      lock.close();
    },
  };
}

function takeLock(folder: string, file: (name: string) => string): DatabaseSync {
  const path = file('server.lock');
  requireWritable(path);
  return attempt(`The data folder ${folder} cannot be locked`, () => {
    const lock = new DatabaseSync(path);
    try {
      lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
      return lock;
    } catch (cause) {
      lock.close();
      throw isBusy(cause) ? inUse(folder, readPid(file('server.pid')), cause) : cause;
    }
  });
}

/** SQLITE_BUSY. */
const isBusy = (cause: unknown) => cause instanceof Error && 'errcode' in cause && cause.errcode === 5;

function inUse(folder: string, pid: string | null, cause: unknown): ConfigurationError {
  const who = pid === null ? '' : ` (process ${pid})`;
  const help = 'stop it, or give this one its own folder with --data';
  return new ConfigurationError(`Another server${who} works on the data folder ${folder}: ${help}.`, { cause });
}

/** Whoever holds the lock has written it, or is about to. */
function readPid(path: string): string | null {
  try {
    return /^\d+$/m.exec(readFileSync(path, 'utf8'))?.[0] ?? null;
  } catch {
    return null;
  }
}

/** Made where there is none. SQLite would open a file that it may only read, and fail at the first write. */
function requireWritable(path: string): void {
  attempt(`The file ${path} cannot be written`, () => closeSync(openSync(path, 'a+', 0o600)));
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
