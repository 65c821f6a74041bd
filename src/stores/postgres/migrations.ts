// The schema, as steps that are only ever added to. A step's checksum is stored with it: a step that was edited after it
// ran, or a database of a newer Reins, is refused at the start (E-804).
//
// - What an append has to check and change stands in `heads`: narrow rows with room beside them, so that a new version of one
//   stays on its page and touches no index.
// - Batches of events lie in one table under one index by run. Days as partitions would let whole ones be dropped; but a log
//   loses its live events alone, and keeps its facts as long as its session, so there is no day on which all of one goes.
//   Pruning rewrites rows in pages and leaves their space to autovacuum.
// - What is JSON and read whole is text: `jsonb` would change the order of its keys and refuses a NUL.
// - What a caller chose and somebody looks for is a `…_key`, shortened where it is long: an index takes 2,704 bytes.
// - Text is compared as bytes, as everywhere in Reins, whatever language the database speaks.

import { missingSteps } from '../rows/missing-steps.ts';
import { lockName, type Database, type Transaction } from './database.ts';

const migrations: readonly string[] = [
  `
  CREATE TABLE sessions (
    session_id text COLLATE "C" PRIMARY KEY,
    harness_id text NOT NULL,
    principal text NOT NULL,
    title text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    running_run_id text,
    expired_at bigint,
    deleted_at bigint,
    internal boolean NOT NULL,
    forked_from text,
    fork_history text,
    queue_held boolean NOT NULL DEFAULT false
  );
  CREATE INDEX sessions_idle ON sessions (updated_at)
    WHERE running_run_id IS NULL AND expired_at IS NULL AND deleted_at IS NULL;
  CREATE INDEX sessions_of_principal ON sessions (principal, updated_at DESC, session_id)
    WHERE NOT internal AND expired_at IS NULL AND deleted_at IS NULL;

  CREATE TABLE runs (
    run_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text COLLATE "C" NOT NULL UNIQUE,
    session_id text COLLATE "C" NOT NULL REFERENCES sessions,
    harness_id text NOT NULL,
    principal text NOT NULL,
    turn bigint NOT NULL,
    previous_run_id text,
    parent_run_id text COLLATE "C",
    status text NOT NULL,
    phase text NOT NULL DEFAULT 'active',
    store boolean NOT NULL,
    deleted boolean NOT NULL DEFAULT false,
    pruned smallint NOT NULL DEFAULT 0,
    owner text,
    control text NOT NULL DEFAULT 'none',
    created_at bigint NOT NULL,
    ended_at bigint,
    response text,
    uploads text[],
    UNIQUE (session_id, turn)
  );
  CREATE INDEX runs_unfinished ON runs (run_no) WHERE status = 'running';
  CREATE INDEX runs_prunable ON runs (ended_at) WHERE pruned <> 1 AND pruned <> 3;
  CREATE INDEX runs_to_empty ON runs (run_no) WHERE pruned = 3;
  CREATE INDEX runs_of_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
  CREATE INDEX runs_of_principal ON runs (principal, created_at) WHERE parent_run_id IS NULL;
  CREATE INDEX runs_at_work ON runs (principal) WHERE status = 'running' AND parent_run_id IS NULL;

  CREATE TABLE heads (
    run_no bigint PRIMARY KEY REFERENCES runs,
    generation bigint NOT NULL,
    last_seq bigint NOT NULL,
    open smallint NOT NULL
  ) WITH (fillfactor = 50);

  CREATE TABLE event_batches (
    run_no bigint NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    committed boolean NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (run_no, last_seq)
  );
  CREATE INDEX event_batches_committed ON event_batches (run_no, last_seq) WHERE committed;

  CREATE TABLE takeovers (run_no bigint NOT NULL REFERENCES runs, at bigint NOT NULL);
  CREATE INDEX takeovers_of_run ON takeovers (run_no, at);

  CREATE TABLE idempotency (
    principal text COLLATE "C" NOT NULL,
    request_key text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL REFERENCES runs (run_id),
    body_hash text NOT NULL,
    PRIMARY KEY (principal, request_key)
  );
  CREATE INDEX idempotency_of_run ON idempotency (run_id);

  CREATE TABLE approvals (
    approval_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    approval_id text COLLATE "C" NOT NULL UNIQUE,
    run_no bigint NOT NULL REFERENCES runs,
    principal text NOT NULL,
    kind text NOT NULL,
    status text NOT NULL,
    expires_at bigint,
    asked text NOT NULL,
    decided text
  );
  CREATE INDEX approvals_of_run ON approvals (run_no);
  CREATE INDEX approvals_of_principal ON approvals (principal, approval_no);
  CREATE INDEX approvals_open ON approvals (principal, approval_no) WHERE decided IS NULL;
  CREATE INDEX approvals_due ON approvals (expires_at) WHERE decided IS NULL AND expires_at IS NOT NULL;

  CREATE TABLE rules (
    rule_no bigint GENERATED ALWAYS AS IDENTITY,
    rule_id text COLLATE "C" PRIMARY KEY,
    principal text NOT NULL,
    harness_id text NOT NULL,
    scope text NOT NULL,
    match text NOT NULL,
    path_prefix text,
    tool_name text NOT NULL,
    args_digest text NOT NULL,
    tool_identity text,
    effect text NOT NULL,
    session_id text NOT NULL,
    run_id text NOT NULL,
    made_by text NOT NULL,
    created_at bigint NOT NULL
  );
  CREATE INDEX rules_of_principal ON rules (principal, created_at);

  CREATE TABLE messages (
    run_no bigint NOT NULL REFERENCES runs,
    message_key text COLLATE "C" NOT NULL,
    content_hash text NOT NULL,
    PRIMARY KEY (run_no, message_key)
  );

  CREATE TABLE queued_tasks (
    entry_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL REFERENCES sessions,
    message_id text NOT NULL,
    message_key text COLLATE "C" NOT NULL,
    principal text NOT NULL,
    body text NOT NULL,
    body_hash text NOT NULL,
    run_id text COLLATE "C",
    uploads text[],
    UNIQUE (session_id, message_key)
  );
  CREATE INDEX queued_tasks_waiting ON queued_tasks (session_id, entry_no) WHERE run_id IS NULL;
  CREATE INDEX queued_tasks_started ON queued_tasks (run_id) WHERE run_id IS NOT NULL;

  CREATE TABLE contents (ref text COLLATE "C" PRIMARY KEY, bytes bytea NOT NULL);
  ALTER TABLE contents ALTER COLUMN bytes SET STORAGE EXTERNAL;
  CREATE TABLE content_uses (
    run_id text COLLATE "C" NOT NULL,
    ref text COLLATE "C" NOT NULL REFERENCES contents,
    unclaimed_since bigint,
    PRIMARY KEY (run_id, ref)
  );
  CREATE INDEX content_uses_of_ref ON content_uses (ref);
  CREATE INDEX content_uses_unclaimed ON content_uses (unclaimed_since) WHERE unclaimed_since IS NOT NULL;

  CREATE TABLE owners (
    owner text COLLATE "C" PRIMARY KEY,
    place text NOT NULL,
    pid bigint NOT NULL,
    start_ticks bigint,
    seen_at bigint NOT NULL
  );
  CREATE TABLE model_blocks (provider text NOT NULL, model text NOT NULL, until bigint NOT NULL, PRIMARY KEY (provider, model));

  CREATE TABLE shares (
    share_id text PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL UNIQUE REFERENCES sessions,
    secret text COLLATE "C" NOT NULL UNIQUE,
    created_at bigint NOT NULL
  );

  CREATE TABLE files (
    file_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    file_id text COLLATE "C" NOT NULL UNIQUE,
    principal text NOT NULL,
    session_id text COLLATE "C",
    run_id text COLLATE "C",
    filename text COLLATE "C" NOT NULL,
    media_type text,
    bytes bigint NOT NULL,
    sha256 text NOT NULL,
    created_at bigint NOT NULL,
    removed boolean NOT NULL DEFAULT false
  );
  CREATE INDEX files_of_session ON files (session_id, file_no) WHERE session_id IS NOT NULL;
  CREATE INDEX files_of_run ON files (run_id, file_no) WHERE run_id IS NOT NULL;
  CREATE INDEX uploads ON files (created_at) WHERE session_id IS NULL;

  CREATE TABLE harnesses (
    harness_no bigint GENERATED ALWAYS AS IDENTITY,
    harness_id text COLLATE "C" PRIMARY KEY,
    principal text NOT NULL,
    name text NOT NULL,
    base text NOT NULL,
    default_model text,
    system_prompt text,
    disabled_tools text NOT NULL,
    max_step bigint,
    timeout_seconds double precision,
    permissions text,
    planning boolean,
    setup text,
    bundles text[] NOT NULL,
    created_at bigint NOT NULL,
    deleted boolean NOT NULL
  );
  CREATE INDEX harnesses_of_principal ON harnesses (principal, created_at);
  CREATE TABLE bundles (
    principal text NOT NULL,
    ref text COLLATE "C" NOT NULL,
    files text NOT NULL,
    unused_since bigint,
    PRIMARY KEY (principal, ref)
  );
  CREATE INDEX bundles_unused ON bundles (unused_since) WHERE unused_since IS NOT NULL;

  CREATE TABLE keys (
    key_no bigint GENERATED ALWAYS AS IDENTITY,
    key_id text COLLATE "C" PRIMARY KEY,
    principal text NOT NULL,
    name text,
    hash text COLLATE "C" NOT NULL UNIQUE,
    scopes text NOT NULL,
    created_at bigint NOT NULL,
    revoked_at bigint
  );
  CREATE TABLE console_sessions (hash text COLLATE "C" PRIMARY KEY, key_id text NOT NULL, expires_at bigint NOT NULL);
  CREATE TABLE spending (
    principal text NOT NULL,
    day text NOT NULL,
    tokens bigint NOT NULL,
    dollars double precision NOT NULL,
    upload_bytes bigint NOT NULL,
    PRIMARY KEY (principal, day)
  );
  CREATE TABLE audit (
    entry_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entry_id text COLLATE "C" NOT NULL UNIQUE,
    at bigint NOT NULL,
    principal text NOT NULL,
    key_id text NOT NULL,
    action text NOT NULL,
    object text NOT NULL,
    request_id text NOT NULL
  );
  CREATE INDEX audit_at ON audit (at);

  CREATE TABLE webhooks (
    webhook_id text COLLATE "C" PRIMARY KEY,
    principal text NOT NULL,
    url text NOT NULL,
    events jsonb,
    description text,
    enabled boolean NOT NULL,
    secret text NOT NULL,
    created_at bigint NOT NULL
  );
  CREATE INDEX webhooks_of_principal ON webhooks (principal, created_at);
  CREATE TABLE deliveries (
    delivery_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery_id text COLLATE "C" NOT NULL UNIQUE,
    webhook_id text COLLATE "C" NOT NULL REFERENCES webhooks,
    event text NOT NULL,
    body text NOT NULL,
    attempt bigint NOT NULL,
    status text NOT NULL,
    http_status bigint,
    error text,
    created_at bigint NOT NULL,
    attempted_at bigint,
    next_attempt_at bigint,
    claimed_until bigint
  );
  CREATE INDEX deliveries_of_webhook ON deliveries (webhook_id, delivery_no);
  CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
  `,
];

/** Of a database that is up to date. */
export const schemaVersion = migrations.length;

/** What every transaction needs (T1 of `database.ts`), so that it is there before the first one. */
const prepare = `
  DO $$ BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('reins:commits', 0));
    CREATE TABLE IF NOT EXISTS commits
      (connection text PRIMARY KEY, number bigint NOT NULL, at timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 10);
  END $$`;

/** Brings the schema up to date in one transaction; of several nodes that start together one does it. */
export async function migrate(db: Database): Promise<void> {
  await db.all(prepare);
  await db.transaction('durable', applyMissing, 'endless');
}

async function applyMissing(tx: Transaction): Promise<void> {
  await lockName(tx, 'schema');
  await tx.script('CREATE TABLE IF NOT EXISTS schema_versions (version bigint PRIMARY KEY, checksum text NOT NULL)');
  const applied = await tx.all('SELECT version, checksum FROM schema_versions ORDER BY version');
  for (const { version, sql, checksum } of missingSteps(applied, migrations)) {
    await tx.script(sql);
    await tx.run('INSERT INTO schema_versions (version, checksum) VALUES ($1, $2)', version, checksum);
  }
}
