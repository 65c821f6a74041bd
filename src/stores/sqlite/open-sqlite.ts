// The default store: one SQLite file, no service. Each method is one short synchronous piece of work on one connection, so
// inside a process nothing interleaves; between processes SQLite's write lock decides.

import type { Store } from '../store.ts';
import { admit } from './admit.ts';
import { appendFact } from './append-fact.ts';
import { append } from './append.ts';
import { approvalMethods } from './approvals.ts';
import { contentMethods } from './contents.ts';
import { openDatabase, type DatabaseOptions } from './database.ts';
import { migrate } from './migrations.ts';
import { modelBlockMethods } from './model-blocks.ts';
import { ownerMethods } from './owners.ts';
import { prune } from './prune.ts';
import { queueMethods } from './queue.ts';
import { readEvents } from './read-events.ts';
import { ruleMethods } from './rules.ts';
import { createRunNumbers } from './run-numbers.ts';
import { runMethods } from './runs.ts';
import { fileMethods } from './files.ts';
import { keepEnded } from './keep-ended.ts';
import { harnessMethods } from './harnesses.ts';
import { principalMethods } from './principals.ts';
import { sessionMethods } from './sessions.ts';
import { webhookMethods } from './webhooks.ts';
import { text } from '../rows/columns.ts';
import { runId } from '../rows/records.ts';

/**
 * Opens the store in the file at `path`, made where there is none; `':memory:'` lives as long as the store.
 * @throws SchemaError  The file was written by a newer Reins (E-804).
 * @throws StorageError  The file cannot be opened, or is no database.
 */
export function openSqlite(path: string, options?: DatabaseOptions): Store {
  const db = openDatabase(path, options);
  try {
    migrate(db);
  } catch (error) {
    db.close();
    throw error;
  }
  const numbers = createRunNumbers(db);
  return {
    admit: async (admission) => admit(db, admission),
    append: async (batch, { durable }) => append({ db, numbers }, batch, durable ? 'durable' : 'fast'),
    readEvents: async (id, range) => readEvents(db, id, range),
    appendFact: async (fact) => appendFact(db, fact),
    keepEnded: async (runs) => keepEnded(db, runs),

    ...runMethods(db),
    ...ownerMethods(db),
    ...approvalMethods(db),
    ...ruleMethods(db),
    ...queueMethods(db),
    ...contentMethods(db),
    ...modelBlockMethods(db),
    ...sessionMethods(db),
    ...harnessMethods(db),
    ...fileMethods(db),
    ...principalMethods(db),
    ...webhookMethods(db),

    async idempotency(principal, key) {
      const row = db.get('SELECT run_id, body_hash FROM idempotency WHERE principal = ? AND key = ?', principal, key);
      return row === undefined ? null : { runId: runId(row, 'run_id'), bodyHash: text(row, 'body_hash') };
    },
    prune: (due) => prune(db, due),
    async isPruned(id) {
      return db.get('SELECT 1 FROM runs WHERE run_id = ? AND pruned <> 0', id) !== undefined;
    },
    async [Symbol.asyncDispose]() {
      db.close();
    },
  };
}
