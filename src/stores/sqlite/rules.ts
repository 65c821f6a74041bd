import type { RuleRecord, Store } from '../store.ts';
import { write, type Database, type Transaction } from './database.ts';
import { ruleRecord } from '../rows/people-records.ts';
import { readable } from '../rows/records.ts';

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
