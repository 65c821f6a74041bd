// Follow-ups that wait for their session (E-664). An entry stays, started, until its run's stream is no longer kept: so long
// its id answers for it (UR-33).

import type { SessionId } from '../../core/ids.ts';
import { flag } from '../rows/columns.ts';
import { queuedTask, readable } from '../rows/records.ts';
import type { EnqueueResult, QueuedTask, Store } from '../store.ts';
import { keyOf, write, type Database, type Reads } from './database.ts';

type QueueMethods = Pick<Store, 'enqueue' | 'queue' | 'unqueue' | 'holdQueue' | 'startableTasks'>;

export function queueMethods(db: Database): QueueMethods {
  return {
    enqueue: (task, most) => enqueue(db, task, most),
    queue: (session) => readQueue(db, session),
    async unqueue(session, messageId) {
      const sql = 'DELETE FROM queued_tasks WHERE session_id = $1 AND message_key = $2 AND run_id IS NULL';
      return (await write(db, sql, session, keyOf(messageId))) === 1;
    },
    async holdQueue(session, held) {
      await write(db, 'UPDATE sessions SET queue_held = $1 WHERE session_id = $2', held, session);
    },
    startableTasks: async () => readable(await db.all(selectStartable), queuedTask),
  };
}

/** Entries of a session that have not ended, in order. */
const selectOpen = `
  SELECT queued_tasks.* FROM queued_tasks LEFT JOIN runs USING (run_id)
  WHERE queued_tasks.session_id = $1 AND (queued_tasks.run_id IS NULL OR status = 'running') ORDER BY entry_no`;
/** Into a session that can still be gone on with. */
const insertEntry = `
  INSERT INTO queued_tasks (session_id, message_id, message_key, principal, body, body_hash, uploads)
  SELECT session_id, $2, $3, $4, $5, $6, $7::text[] FROM sessions
  WHERE session_id = $1 AND expired_at IS NULL AND deleted_at IS NULL`;

function enqueue(
  db: Database,
  { sessionId: session, messageId, principal, body, bodyHash, uploads = [] }: Parameters<Store['enqueue']>[0],
  most: number,
): Promise<EnqueueResult> {
  return db.transaction('durable', async (tx) => {
    // Of a run that ends now one learns whether its queue is to be held (E-664): never half of each.
    await tx.run('SELECT 1 FROM sessions WHERE session_id = $1 FOR NO KEY UPDATE', session);
    const sql = 'SELECT * FROM queued_tasks WHERE session_id = $1 AND message_key = $2';
    const known = await tx.get(sql, session, keyOf(messageId));
    if (known !== undefined) return { outcome: 'known', task: queuedTask(known) };
    const open = await tx.all(selectOpen, session);
    if (open.length >= most) return { outcome: 'full' };
    const entry = [session, messageId, keyOf(messageId), principal, JSON.stringify(body), bodyHash];
    const added = await tx.run(insertEntry, ...entry, uploads.length === 0 ? null : uploads);
    if (added === 0) return { outcome: 'no-session' };
    return { outcome: 'queued', position: open.filter((row) => row['run_id'] === null).length + 1 };
  });
}

async function readQueue(db: Reads, session: SessionId): Promise<{ tasks: readonly QueuedTask[]; held: boolean }> {
  const row = await db.get('SELECT queue_held FROM sessions WHERE session_id = $1', session);
  const held = row !== undefined && flag(row, 'queue_held');
  return { tasks: readable(await db.all(selectOpen, session), queuedTask), held };
}

const selectStartable = `
  SELECT queued_tasks.* FROM queued_tasks JOIN sessions USING (session_id)
  WHERE entry_no IN (SELECT min(entry_no) FROM queued_tasks WHERE run_id IS NULL GROUP BY session_id)
    AND running_run_id IS NULL AND NOT queue_held AND expired_at IS NULL AND deleted_at IS NULL
  ORDER BY entry_no`;
