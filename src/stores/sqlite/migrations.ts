// The schema, as steps that are only ever added to. A step's checksum is stored with it: a step that was edited after it
// ran, or a database of a newer Reins, is refused at the start (E-804).
//
// - An append touches as few pages as it can, for pages are what a commit costs: batches of all runs stand in the order of
//   time, `heads` holds nothing but what each append has to check and change, and the index of batches is cut into eras of
//   2,048 rows, so that only its newest few pages are written. (One index over all: 12 µs a row at 1,000 runs; so: 4 µs.)
// - A run's batches lie in the eras between `first_batch` and `last_batch`; a reader looks into each. Where a run was
//   parked, the stretch before it stands in `stretches`, so that nobody looks through what others wrote meanwhile.

import type { Database } from './database.ts';
import { missingSteps } from '../rows/missing-steps.ts';

const migrations: readonly string[] = [
  `
  CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    harness_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    title TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    running_run_id TEXT,
    expired_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_idle ON sessions (updated_at) WHERE running_run_id IS NULL AND expired_at IS NULL;

  CREATE TABLE runs (
    run_no INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions,
    harness_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    turn INTEGER NOT NULL,
    previous_run_id TEXT,
    status TEXT NOT NULL,
    store INTEGER NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    pruned INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    control TEXT NOT NULL DEFAULT 'none',
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    response TEXT,
    first_batch INTEGER NOT NULL,
    last_batch INTEGER,
    UNIQUE (session_id, turn)
  ) STRICT;
  CREATE INDEX runs_unfinished ON runs (run_no) WHERE status = 'running';
  CREATE INDEX runs_prunable ON runs (ended_at) WHERE pruned = 0;

  CREATE TABLE heads (
    run_no INTEGER PRIMARY KEY REFERENCES runs,
    generation INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    open INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE event_batches (
    batch_no INTEGER PRIMARY KEY,
    run_no INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX event_batches_by_era ON event_batches (batch_no >> 11, run_no, last_seq);

  CREATE TABLE idempotency (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    body_hash TEXT NOT NULL,
    PRIMARY KEY (principal, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_of_run ON idempotency (run_id);

  CREATE TABLE harnesses (
    harness_id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    name TEXT NOT NULL,
    base TEXT NOT NULL,
    default_model TEXT,
    system_prompt TEXT,
    disabled_tools TEXT NOT NULL,
    max_step INTEGER,
    timeout_seconds REAL,
    created_at INTEGER NOT NULL,
    deleted INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX harnesses_of_principal ON harnesses (principal, created_at);

  CREATE TABLE keys (
    key_id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
  ) STRICT;

  CREATE TABLE approvals (
    approval_id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    session_id TEXT NOT NULL,
    status TEXT NOT NULL,
    kind TEXT NOT NULL,
    execution_key TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    expires_at INTEGER,
    body TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX approvals_of_run ON approvals (run_id);
  CREATE INDEX approvals_open ON approvals (expires_at) WHERE status IN ('pending', 'uncertain');

  CREATE TABLE takeovers (run_no INTEGER NOT NULL REFERENCES runs, at INTEGER NOT NULL) STRICT;
  CREATE INDEX takeovers_of_run ON takeovers (run_no, at);
  `,
  // A batch says whether it may hold a committed event, so that live ones are passed over in the index alone; so are, each
  // second, the open runs read. `pruned`: 0 no, 2 begun, 1 done.
  `
  ALTER TABLE event_batches ADD COLUMN committed INTEGER NOT NULL DEFAULT 1;
  DROP INDEX event_batches_by_era;
  CREATE INDEX event_batches_by_era ON event_batches (batch_no >> 11, run_no, last_seq, committed);
  DROP INDEX runs_unfinished;
  CREATE INDEX runs_unfinished ON runs (run_no, run_id, harness_id, owner, control, created_at) WHERE status = 'running';
  DROP INDEX runs_prunable;
  CREATE INDEX runs_prunable ON runs (ended_at) WHERE pruned <> 1;
  `,
  // People: approvals with the logs that asked for them, rules, queued tasks, ids of messages. Content, by its uses: one of a
  // run that was never admitted is `unclaimed_since` the prune that first found it. `heads.open`: 0 ended, 1 at work, 2 parked.
  `
  ALTER TABLE runs ADD COLUMN phase TEXT NOT NULL DEFAULT 'active';
  ALTER TABLE runs ADD COLUMN parent_run_id TEXT;
  DROP INDEX runs_unfinished;
  CREATE INDEX runs_unfinished ON runs (run_no, run_id, harness_id, owner, control, phase, created_at)
    WHERE status = 'running';
  ALTER TABLE sessions ADD COLUMN queue_held INTEGER NOT NULL DEFAULT 0;

  CREATE TABLE stretches (
    run_no INTEGER NOT NULL REFERENCES runs,
    first_batch INTEGER NOT NULL,
    last_batch INTEGER NOT NULL,
    PRIMARY KEY (run_no, first_batch)
  ) STRICT, WITHOUT ROWID;

  DROP TABLE approvals;
  CREATE TABLE approvals (
    approval_no INTEGER PRIMARY KEY,
    approval_id TEXT NOT NULL UNIQUE,
    run_no INTEGER NOT NULL REFERENCES runs,
    principal TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    expires_at INTEGER,
    asked TEXT NOT NULL,
    decided TEXT
  ) STRICT;
  CREATE INDEX approvals_of_principal ON approvals (principal, approval_no);
  CREATE INDEX approvals_open ON approvals (principal, approval_no) WHERE decided IS NULL;
  CREATE INDEX approvals_due ON approvals (expires_at) WHERE decided IS NULL AND expires_at IS NOT NULL;
  CREATE TABLE approval_logs (
    run_no INTEGER NOT NULL REFERENCES runs,
    approval_no INTEGER NOT NULL REFERENCES approvals,
    PRIMARY KEY (run_no, approval_no)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE rules (
    rule_id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    harness_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    match TEXT NOT NULL,
    path_prefix TEXT,
    tool_name TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    effect TEXT NOT NULL,
    session_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    made_by TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX rules_of_principal ON rules (principal, created_at);

  CREATE TABLE messages (
    run_no INTEGER NOT NULL REFERENCES runs,
    message_id TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    PRIMARY KEY (run_no, message_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE queued_tasks (
    entry_no INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions,
    message_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    body TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    run_id TEXT,
    UNIQUE (session_id, message_id)
  ) STRICT;
  CREATE INDEX queued_tasks_waiting ON queued_tasks (session_id, entry_no) WHERE run_id IS NULL;
  CREATE INDEX queued_tasks_started ON queued_tasks (run_id) WHERE run_id IS NOT NULL;

  CREATE TABLE contents (ref TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
  CREATE TABLE content_uses (
    run_id TEXT NOT NULL,
    ref TEXT NOT NULL REFERENCES contents,
    unclaimed_since INTEGER,
    PRIMARY KEY (run_id, ref)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX content_uses_of_ref ON content_uses (ref);
  CREATE INDEX content_uses_unclaimed ON content_uses (unclaimed_since) WHERE unclaimed_since IS NOT NULL;

  ALTER TABLE harnesses ADD COLUMN permissions TEXT;
  ALTER TABLE harnesses ADD COLUMN planning INTEGER;
  `,
  // Several processes on one store.
  `
  CREATE TABLE owners (
    owner TEXT PRIMARY KEY,
    place TEXT NOT NULL,
    pid INTEGER NOT NULL,
    start_ticks INTEGER,
    seen_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // What becomes of a run becomes of those that work for it.
  `CREATE INDEX runs_of_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;`,
  // When models may be asked again.
  `
  CREATE TABLE model_blocks (
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (provider, model)
  ) STRICT, WITHOUT ROWID;
  `,
  // What a tool was when a rule was made of it.
  `ALTER TABLE rules ADD COLUMN tool_identity TEXT;`,
  // An approval is of one run.
  `
  DROP TABLE approval_logs;
  CREATE INDEX approvals_of_run ON approvals (run_no);
  `,
  // What principals manage: sessions in lists, forks, shares; files; what harnesses are made of; keys, spending, audit; webhooks.
  // `sessions.internal`: of a run that works for another one.
  `
  ALTER TABLE sessions ADD COLUMN internal INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN deleted_at INTEGER;
  ALTER TABLE sessions ADD COLUMN forked_from TEXT;
  ALTER TABLE sessions ADD COLUMN fork_history TEXT;
  UPDATE sessions SET internal = 1
    WHERE session_id IN (SELECT session_id FROM runs WHERE turn = 1 AND parent_run_id IS NOT NULL);
  CREATE INDEX sessions_of_principal ON sessions (principal, updated_at DESC, session_id)
    WHERE internal = 0 AND expired_at IS NULL AND deleted_at IS NULL;
  CREATE INDEX runs_of_principal ON runs (principal, created_at) WHERE parent_run_id IS NULL;
  CREATE INDEX runs_at_work ON runs (principal) WHERE status = 'running' AND parent_run_id IS NULL;
  CREATE INDEX runs_to_empty ON runs (run_no) WHERE pruned = 3;

  CREATE TABLE shares (
    share_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions,
    secret TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX shares_of_session ON shares (session_id);

  CREATE TABLE files (
    file_no INTEGER PRIMARY KEY,
    file_id TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    session_id TEXT,
    run_id TEXT,
    filename TEXT NOT NULL,
    media_type TEXT,
    bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    removed INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX files_of_session ON files (session_id, filename, file_no) WHERE session_id IS NOT NULL;
  CREATE INDEX files_of_run ON files (run_id, file_no) WHERE run_id IS NOT NULL;
  CREATE INDEX uploads ON files (created_at) WHERE session_id IS NULL;

  ALTER TABLE harnesses ADD COLUMN setup TEXT;
  CREATE TABLE bundles (
    principal TEXT NOT NULL,
    ref TEXT NOT NULL,
    files TEXT NOT NULL,
    unused_since INTEGER,
    PRIMARY KEY (principal, ref)
  ) STRICT;
  CREATE INDEX bundles_unused ON bundles (unused_since) WHERE unused_since IS NOT NULL;

  ALTER TABLE keys ADD COLUMN name TEXT;
  CREATE TABLE spending (
    principal TEXT NOT NULL,
    day TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    dollars REAL NOT NULL,
    upload_bytes INTEGER NOT NULL,
    PRIMARY KEY (principal, day)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE audit (
    entry_no INTEGER PRIMARY KEY,
    entry_id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    principal TEXT NOT NULL,
    key_id TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    request_id TEXT NOT NULL
  ) STRICT;

  CREATE TABLE webhooks (
    webhook_id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    url TEXT NOT NULL,
    events TEXT,
    description TEXT,
    enabled INTEGER NOT NULL,
    secret TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX webhooks_of_principal ON webhooks (principal, created_at);
  CREATE TABLE deliveries (
    delivery_no INTEGER PRIMARY KEY,
    delivery_id TEXT NOT NULL UNIQUE,
    webhook_id TEXT NOT NULL REFERENCES webhooks,
    event TEXT NOT NULL,
    body TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    status TEXT NOT NULL,
    http_status INTEGER,
    error TEXT,
    created_at INTEGER NOT NULL,
    attempted_at INTEGER,
    next_attempt_at INTEGER,
    claimed_until INTEGER
  ) STRICT;
  CREATE INDEX deliveries_of_webhook ON deliveries (webhook_id, delivery_no);
  CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
  `,
  // Uploads that a task at work, or one that waits for its session, was given: JSON lists of their ids.
  `
  ALTER TABLE runs ADD COLUMN uploads TEXT;
  ALTER TABLE queued_tasks ADD COLUMN uploads TEXT;
  CREATE INDEX runs_with_uploads ON runs (run_no, uploads) WHERE status = 'running' AND uploads IS NOT NULL;
  `,
  // Browsers that are signed in to the console page.
  `
  CREATE TABLE console_sessions (
    hash TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
];

/** Of a database that is up to date. */
export const schemaVersion = migrations.length;

/** Brings the schema up to date in one transaction, so that of two processes that start together one does it. */
export function migrate(db: Database): void {
  db.transaction('durable', (tx) => {
    tx.script(
      'CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT',
    );
    const applied = tx.all('SELECT version, checksum FROM schema_versions ORDER BY version');
    for (const { version, sql, checksum } of missingSteps(applied, migrations)) {
      tx.script(sql);
      tx.run('INSERT INTO schema_versions (version, checksum) VALUES (?, ?)', version, checksum);
    }
  });
}
