// Follow-ups that wait for their session (E-664). An entry stays, started, until its run's stream is no longer kept: so long
// its id answers for it (UR-33).

import type { SessionId } from '../../core/ids.ts';
import type { EnqueueResult, QueuedTask, Store } from '../store.ts';
import { write, type Database, type Reads } from './database.ts';
import { flag } from '../rows/columns.ts';
import { queuedTask, readable } from '../rows/records.ts';
import { uploadsValue } from './run-columns.ts';

type QueueMethods = Pick<Store, 'enqueue' | 'queue' | 'unqueue' | 'holdQueue' | 'startableTasks'>;

export function queueMethods(db: Database): QueueMethods {
  return {
    enqueue: async (task, most) => enqueue(db, task, most),
    queue: async (session) => readQueue(db, session),
    async unqueue(session, messageId) {
      const sql = 'DELETE FROM queued_tasks WHERE session_id = ? AND message_id = ? AND run_id IS NULL';
      return write(db, sql, session, messageId) === 1;
    },
    async holdQueue(session, held) {
      write(db, 'UPDATE sessions SET queue_held = ? WHERE session_id = ?', held ? 1 : 0, session);
    },
    startableTasks: async () => readable(db.all(selectStartable), queuedTask),
  };
}

/** Entries of a session that have not ended, in order. */
const selectOpen = `
  SELECT queued_tasks.* FROM queued_tasks LEFT JOIN runs USING (run_id)
  WHERE queued_tasks.session_id = ? AND (queued_tasks.run_id IS NULL OR status = 'running') ORDER BY entry_no`;
/** Into a session that can still be gone on with. */
const insertEntry = `
  INSERT INTO queued_tasks (session_id, message_id, principal, body, body_hash, uploads)
  SELECT session_id, ?2, ?3, ?4, ?5, ?6 FROM sessions
  WHERE session_id = ?1 AND expired_at IS NULL AND deleted_at IS NULL`;

function enqueue(
  db: Database,
  { sessionId: session, messageId, principal, body, bodyHash, uploads = [] }: Parameters<Store['enqueue']>[0],
  most: number,
): EnqueueResult {
  return db.transaction('durable', (tx) => {
    const known = tx.get('SELECT * FROM queued_tasks WHERE session_id = ? AND message_id = ?', session, messageId);
    if (known !== undefined) return { outcome: 'known', task: queuedTask(known) };
    const open = tx.all(selectOpen, session);
    if (open.length >= most) return { outcome: 'full' };
    const entry = [session, messageId, principal, JSON.stringify(body), bodyHash, uploadsValue(uploads)];
    if (tx.run(insertEntry, ...entry) === 0) return { outcome: 'no-session' };
    return { outcome: 'queued', position: open.filter((row) => row['run_id'] === null).length + 1 };
  });
}

function readQueue(db: Reads, session: SessionId): { tasks: readonly QueuedTask[]; held: boolean } {
  const row = db.get('SELECT queue_held FROM sessions WHERE session_id = ?', session);
  const held = row !== undefined && flag(row, 'queue_held');
  return { tasks: readable(db.all(selectOpen, session), queuedTask), held };
}

const selectStartable = `
  SELECT queued_tasks.* FROM queued_tasks JOIN sessions USING (session_id)
  WHERE entry_no IN (SELECT min(entry_no) FROM queued_tasks WHERE run_id IS NULL GROUP BY session_id)
    AND running_run_id IS NULL AND queue_held = 0 AND expired_at IS NULL AND deleted_at IS NULL
  ORDER BY entry_no`;
