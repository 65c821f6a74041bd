import { ruleIds } from '../../core/ids.ts';
import type { RuleRecord, Store } from '../store.ts';
import { id, integer, nullable, oneOf, text } from './columns.ts';
import { write, type Database, type Row, type Transaction } from './database.ts';
import { harnessId, readable, runId, sessionId } from './records.ts';

const ruleId = id(ruleIds);

const listRules = `
  SELECT * FROM rules WHERE principal = ?1 AND (?2 IS NULL OR session_id = ?2) ORDER BY created_at DESC, rowid DESC`;

export function ruleMethods(db: Database): Pick<Store, 'putRule' | 'rule' | 'rules' | 'deleteRule'> {
  return {
    putRule: async (rule) => db.transaction('durable', (tx) => putRule(tx, rule)),
    async rule(wanted) {
      const row = db.get('SELECT * FROM rules WHERE rule_id = ?', wanted);
      return row === undefined ? null : ruleRecord(row);
    },
    rules: async (filter) => readable(db.all(listRules, filter.principal, filter.sessionId ?? null), ruleRecord),
    deleteRule: async (wanted) => write(db, 'DELETE FROM rules WHERE rule_id = ?', wanted) === 1,
  };
}

function ruleRecord(row: Row): RuleRecord {
  const pathPrefix = nullable(row, 'path_prefix', text);
  const toolIdentity = nullable(row, 'tool_identity', text);
  return {
    ruleId: ruleId(row, 'rule_id'),
    principal: text(row, 'principal'),
    harnessId: harnessId(row, 'harness_id'),
    scope: oneOf(row, 'scope', ['run', 'session', 'agent']),
    match: pathPrefix === null ? oneOf(row, 'match', ['tool', 'exact-args']) : { pathPrefix },
    toolName: text(row, 'tool_name'),
    argsDigest: text(row, 'args_digest'),
    ...(toolIdentity === null ? {} : { toolIdentity }),
    effect: oneOf(row, 'effect', ['allow', 'deny']),
    sessionId: sessionId(row, 'session_id'),
    runId: runId(row, 'run_id'),
    by: text(row, 'made_by'),
    createdAtMs: integer(row, 'created_at'),
  };
}

const insertRule = `
  INSERT OR REPLACE INTO rules
    (rule_id, principal, harness_id, scope, match, path_prefix, tool_name, args_digest, effect, session_id, run_id,
     made_by, created_at, tool_identity)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function putRule(tx: Transaction, rule: RuleRecord): void {
  const { principal, harnessId: harness, scope, match, toolName, argsDigest, effect, by, createdAtMs } = rule;
  const matched = typeof match === 'string' ? [match, null] : ['path-prefix', match.pathPrefix];
  const made = [rule.sessionId, rule.runId, by, createdAtMs, rule.toolIdentity ?? null];
  tx.run(insertRule, rule.ruleId, principal, harness, scope, ...matched, toolName, argsDigest, effect, ...made);
}
