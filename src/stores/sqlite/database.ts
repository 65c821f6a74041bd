// One connection to one SQLite file, as little above `node:sqlite` as the store needs: cached statements, transactions of
// two kinds of durability, one error class. Every call is synchronous and short.

import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { DamageError, RefusedEntryError, StorageError } from '../../core/errors.ts';

export type Row = Readonly<Record<string, SQLOutputValue>>;

export interface Reads {
  get(sql: string, ...values: SQLInputValue[]): Row | undefined;
  all(sql: string, ...values: SQLInputValue[]): Row[];
  /** Rows one by one; leaving the loop early frees the statement. */
  iterate(sql: string, ...values: SQLInputValue[]): Iterable<Row>;
}

/** What writes: there is no way to it but `transaction`, so every write has said how durable it is to be. */
export interface Transaction extends Reads {
  /** Runs one statement and gives the number of rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
  /** Runs one statement and gives the rows of its `RETURNING` clause. */
  returning(sql: string, ...values: SQLInputValue[]): Row[];
  /** Several statements at once, for migrations. */
  script(sql: string): void;
}

export interface Database extends Reads {
  /** All or nothing. `durable`: synced to the disk before it returns; else safe against a crash, not a power cut (E-802). */
  transaction<T>(sync: 'durable' | 'fast', body: (tx: Transaction) => T): T;
  close(): void;
}

export interface DatabaseOptions {
  /** Called before each statement that can write or changes how writes are synced, for tests that crash there. */
  readonly onStatement?: (sql: string) => void;
}

const busyTimeoutMs = 5_000;

/** @throws StorageError  The file cannot be opened, or is no database. */
export function openDatabase(path: string, { onStatement }: DatabaseOptions = {}): Database {
  const connection = guarded(() => {
    const opened = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
    turnToWal(opened);
    opened.exec(
      'PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000',
    );
    return opened;
  });
  const statements = new Map<string, StatementSync>();
  let synced: 'durable' | 'fast' = 'durable';

  function statement(sql: string): StatementSync {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const prepared = connection.prepare(sql);
    statements.set(sql, prepared);
    return prepared;
  }

  function execute(sql: string): void {
    onStatement?.(sql);
    connection.exec(sql);
  }

  function begin(sync: 'durable' | 'fast'): void {
    // The pragma does nothing inside a transaction, so it comes first.
    if (sync !== synced) execute(`PRAGMA synchronous = ${sync === 'durable' ? 'FULL' : 'NORMAL'}`);
    synced = sync;
    execute('BEGIN IMMEDIATE');
  }

  const reads: Reads = {
    get: (sql, ...values) => guarded(() => statement(sql).get(...values)),
    all: (sql, ...values) => guarded(() => statement(sql).all(...values)),
    *iterate(sql, ...values) {
      try {
        yield* statement(sql).iterate(...values);
      } catch (cause) {
        throw storageError(cause);
      }
    },
  };
  const tx: Transaction = {
    ...reads,
    run: (sql, ...values) =>
      guarded(() => {
        onStatement?.(sql);
        return Number(statement(sql).run(...values).changes);
      }),
    returning: (sql, ...values) =>
      guarded(() => {
        onStatement?.(sql);
        return statement(sql).all(...values);
      }),
    script: (sql) => guarded(() => execute(sql)),
  };
  return {
    ...reads,
    transaction: (sync, body) =>
      guarded(() => {
        begin(sync);
        try {
          const result = body(tx);
          execute('COMMIT');
          return result;
        } finally {
          if (connection.isTransaction) connection.exec('ROLLBACK');
        }
      }),
    close: () => guarded(() => connection.close()),
  };
}

const busyCode = 5;
const triesApartMs = 10;

/** Where another process opens the file, or is killed over it, in the same instant SQLite refuses this without waiting. */
function turnToWal(opened: DatabaseSync): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let left = busyTimeoutMs / triesApartMs; ; left -= 1)
    try {
      return opened.exec('PRAGMA journal_mode = WAL');
    } catch (cause) {
      const isBusy = cause instanceof Error && 'errcode' in cause && cause.errcode === busyCode;
      if (!isBusy || left <= 0) throw cause;
      Atomics.wait(pause, 0, 0, triesApartMs);
    }
}

/** One statement as a durable transaction of its own; gives the number of rows it changed. */
export function write(db: Database, sql: string, ...values: SQLInputValue[]): number {
  return db.transaction('durable', (tx) => tx.run(sql, ...values));
}

function guarded<T>(body: () => T): T {
  try {
    return body();
  } catch (cause) {
    throw storageError(cause);
  }
}

/** SQLITE_CORRUPT and SQLITE_NOTADB; extended codes have more bits above. */
const corruptCodes = new Set([11, 26]);
/** SQLITE_TOOBIG, SQLITE_CONSTRAINT and SQLITE_MISMATCH: it is about what was to be written. */
const valueCodes = new Set([18, 19, 20]);

function storageError(cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const code = cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) & 0xff : 0;
  // What cannot even be bound is a TypeError.
  const isOfValues = valueCodes.has(code) || cause instanceof TypeError;
  const Kind = corruptCodes.has(code) ? DamageError : isOfValues ? RefusedEntryError : StorageError;
  return new Kind('The store could not read or write.', { cause });
}
