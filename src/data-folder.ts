import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigurationError } from './core/errors.ts';

/** The folder that holds everything a server keeps, owned by one server process at a time. */
export interface DataFolder extends Disposable {
  readonly databasePath: string;
  /** Leaves the first key where only its owner, and the command line on this machine, can read it. */
  writeKey(key: string): void;
}

/**
 * Takes the folder for this process. The lock is one that the operating system drops with the process, whatever kills it:
 * SQLite's own, on a file of its own.
 * @throws ConfigurationError  Another server works on it, or it cannot be written.
 */
export function openDataFolder(path: string): DataFolder {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new ConfigurationError(`The data folder ${path} cannot be made.`, { cause });
  }
  const lock = new DatabaseSync(join(path, 'server.lock'));
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    throw new ConfigurationError(
      `Another server works on the data folder ${path}: stop it, or give this one its own with --data.`,
      { cause },
    );
  }
  return {
    databasePath: join(path, 'reins.db'),
    writeKey(key) {
      const file = join(path, 'key');
      writeFileSync(file, `${key}\n`, { mode: 0o600 });
      chmodSync(file, 0o600);
    },
    [Symbol.dispose]: () => lock.close(),
  };
}
