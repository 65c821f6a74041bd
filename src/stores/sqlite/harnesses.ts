// Harnesses, and the bundles of files that they name. A bundle that nobody names is kept for a week: a task that runs with it
// keeps the configuration it began with (UD-35).

import type { SQLInputValue } from 'node:sqlite';
import type { RunPermissions } from '../../core/run-event.ts';
import { isJsonObject, type JsonValue } from '../../core/json.ts';
import { StorageError } from '../../core/errors.ts';
import { plainSetup } from '../store.ts';
import type { Bundle, BundleFile, HarnessRecord, HarnessSetup, Store, StoredSecret } from '../store.ts';
import { flag, integer, jsonObject, nested, nullable, oneOf, strings, text, truth, type Fields } from './columns.ts';
import type { Database, Reads, Row, Transaction } from './database.ts';
import { harnessId, readable } from './records.ts';

type HarnessMethods = Pick<Store, 'harness' | 'harnesses' | 'putHarness' | 'bundle' | 'bundleRefs'>;

export function harnessMethods(db: Database): HarnessMethods {
  return {
    async harness(key) {
      const row = db.get('SELECT * FROM harnesses WHERE harness_id = ?', key);
      return row === undefined ? null : harnessRecord(row);
    },
    async harnesses(principal) {
      const sql = 'SELECT * FROM harnesses WHERE principal = ? AND deleted = 0 ORDER BY created_at, rowid';
      return readable(db.all(sql, principal), harnessRecord);
    },
    putHarness: async (record, bundles = []) => db.transaction('durable', (tx) => putHarness(tx, record, bundles)),
    bundle: async (principal, ref) => findBundle(db, principal, ref),
    bundleRefs: async () => db.all('SELECT DISTINCT ref FROM bundles').map((row) => text(row, 'ref')),
  };
}

const upsertHarness = `
  INSERT INTO harnesses
    (harness_id, principal, name, base, default_model, system_prompt, disabled_tools, max_step, timeout_seconds,
     permissions, planning, setup, created_at, deleted)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (harness_id) DO UPDATE SET
    principal = excluded.principal, name = excluded.name, base = excluded.base, default_model = excluded.default_model,
    system_prompt = excluded.system_prompt, disabled_tools = excluded.disabled_tools, max_step = excluded.max_step,
    timeout_seconds = excluded.timeout_seconds, permissions = excluded.permissions, planning = excluded.planning,
    setup = excluded.setup, created_at = excluded.created_at, deleted = excluded.deleted`;

function putHarness(tx: Transaction, record: HarnessRecord, bundles: readonly Bundle[]): void {
  tx.run(upsertHarness, ...harnessValues(record));
  const { principal } = record;
  const insert = `
    INSERT INTO bundles (principal, ref, files) VALUES (?, ?, ?)
    ON CONFLICT (principal, ref) DO UPDATE SET unused_since = NULL`;
  for (const { ref, files } of bundles) tx.run(insert, principal, ref, JSON.stringify(files));
  noteUses(tx, principal);
}

/** A prune gives `unused_since` its time; 0 says that it has not seen it yet. */
function noteUses(tx: Transaction, principal: string): void {
  const used = `
    SELECT json_extract(entry.value, '$.bundle') FROM harnesses, json_each(setup, '$.skills') AS entry
    WHERE principal = ?1 AND deleted = 0
    UNION SELECT json_extract(entry.value, '$.bundle') FROM harnesses, json_each(setup, '$.plugins') AS entry
    WHERE principal = ?1 AND deleted = 0`;
  tx.run(`UPDATE bundles SET unused_since = NULL WHERE principal = ?1 AND ref IN (${used})`, principal);
  tx.run(
    `UPDATE bundles SET unused_since = 0
     WHERE principal = ?1 AND unused_since IS NULL AND ref NOT IN (${used} EXCEPT SELECT NULL)`,
    principal,
  );
}

const unusedForMs = 7 * 86_400_000;

/** Bundles that nobody names are marked, and go a week later. */
export function freeBundles(db: Database, nowMs: number): void {
  if (db.get('SELECT 1 FROM bundles WHERE unused_since IS NOT NULL') === undefined) return;
  db.transaction('fast', (tx) => {
    tx.run('DELETE FROM bundles WHERE unused_since > 0 AND unused_since < ?', nowMs - unusedForMs);
    tx.run('UPDATE bundles SET unused_since = ? WHERE unused_since = 0', nowMs);
  });
}

function findBundle(db: Reads, principal: string, ref: string): Bundle | null {
  const row = db.get('SELECT * FROM bundles WHERE principal = ? AND ref = ?', principal, ref);
  return row === undefined ? null : { ref, files: bundleFiles(row) };
}

function bundleFiles(row: Row): readonly BundleFile[] {
  const files: JsonValue = JSON.parse(text(row, 'files'));
  if (!Array.isArray(files)) throw damaged('files');
  return files.map((file: JsonValue): BundleFile => {
    if (!isJsonObject(file) || typeof file['path'] !== 'string') throw damaged('files');
    const { path, content, content_b64: encoded } = file;
    if (typeof content === 'string') return { path, content };
    if (typeof encoded === 'string') return { path, content_b64: encoded };
    throw damaged('files');
  });
}

function harnessValues(record: HarnessRecord): SQLInputValue[] {
  const { harnessId: key, principal, name, base, defaultModel, systemPrompt, createdAtMs } = record;
  const { disabledTools, maxStep, timeoutSeconds, planning, setup, deleted } = record;
  const tools = JSON.stringify(disabledTools);
  const may = record.permissions === null ? null : JSON.stringify(record.permissions);
  const rest = [maxStep, timeoutSeconds, may, planning === null ? null : Number(planning), JSON.stringify(setup)];
  return [key, principal, name, base, defaultModel, systemPrompt, tools, ...rest, createdAtMs, deleted ? 1 : 0];
}

function harnessRecord(row: Row): HarnessRecord {
  return {
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    name: text(row, 'name'),
    base: text(row, 'base'),
    defaultModel: nullable(row, 'default_model', text),
    systemPrompt: nullable(row, 'system_prompt', text),
    disabledTools: strings(row, 'disabled_tools'),
    maxStep: nullable(row, 'max_step', integer),
    timeoutSeconds: nullable(row, 'timeout_seconds', integer),
    permissions: nullable(row, 'permissions', permissions),
    planning: nullable(row, 'planning', flag),
    setup: nullable(row, 'setup', harnessSetup) ?? plainSetup,
    createdAtMs: integer(row, 'created_at'),
    deleted: flag(row, 'deleted'),
  };
}

/** Those of a harness, which works for nobody: there are none above. */
function permissions(row: Row, name: string): RunPermissions {
  const stored = jsonObject(row, name);
  const tools = nested(stored, 'tools');
  return {
    mode: oneOf(stored, 'mode', ['allow-all', 'allow-edits', 'allow-reads']),
    tools: Object.fromEntries(Object.keys(tools).map((tool) => [tool, oneOf(tools, tool, ['allow', 'ask', 'deny'])])),
    onUnknown: oneOf(stored, 'onUnknown', ['park', 'tell-model']),
    questions: truth(stored, 'questions'),
    expiresAfterSeconds: nullable(stored, 'expiresAfterSeconds', integer),
    onExpiry: oneOf(stored, 'onExpiry', ['deny', 'cancel-run']),
  };
}

function harnessSetup(row: Row, name: string): HarnessSetup {
  const stored = jsonObject(row, name);
  return {
    mcpServers: list(stored, 'mcpServers').map((server) => ({
      name: text(server, 'name'),
      url: text(server, 'url'),
      transport: oneOf(server, 'transport', ['http', 'sse']),
      enabled: truth(server, 'enabled'),
      headers: secrets(nested(server, 'headers')),
      auth: server['auth'] === null ? null : secret(nested(server, 'auth')),
    })),
    skills: list(stored, 'skills').map((skill) => ({
      name: text(skill, 'name'),
      enabled: truth(skill, 'enabled'),
      bundle: nullable(skill, 'bundle', text),
    })),
    plugins: list(stored, 'plugins').map((plugin) => ({
      name: text(plugin, 'name'),
      enabled: truth(plugin, 'enabled'),
      bundle: text(plugin, 'bundle'),
    })),
    modelFallback: truth(stored, 'modelFallback'),
    template: nullable(stored, 'template', text),
    workspaceConfig: truth(stored, 'workspaceConfig'),
  };
}

function list(stored: Fields, name: string): readonly Fields[] {
  const value = stored[name];
  if (!Array.isArray(value)) throw damaged(name);
  return value.map((_, index) => nested(Object.fromEntries(Object.entries(value)), String(index)));
}

function secrets(fields: Fields): Readonly<Record<string, StoredSecret>> {
  return Object.fromEntries(Object.keys(fields).map((name) => [name, secret(nested(fields, name))]));
}

function secret(fields: Fields): StoredSecret {
  return { id: text(fields, 'id'), value: text(fields, 'value') };
}

function damaged(name: string): StorageError {
  return new StorageError(`A stored record is damaged: '${name}' cannot be read.`);
}
