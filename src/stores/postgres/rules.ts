import { ruleRecord } from '../rows/people-records.ts';
import { readable } from '../rows/records.ts';
import type { RuleRecord, Store } from '../store.ts';
import { write, type Database, type Transaction } from './database.ts';

const listRules = `
  SELECT * FROM rules WHERE principal = $1 AND ($2::text IS NULL OR session_id = $2)
  ORDER BY created_at DESC, rule_no DESC`;

export function ruleMethods(db: Database): Pick<Store, 'putRule' | 'rule' | 'rules' | 'deleteRule'> {
  return {
    putRule: (rule) => db.transaction('durable', (tx) => putRule(tx, rule)),
    async rule(wanted) {
      const row = await db.get('SELECT * FROM rules WHERE rule_id = $1', wanted);
      return row === undefined ? null : ruleRecord(row);
    },
    rules: async (filter) => readable(await db.all(listRules, filter.principal, filter.sessionId ?? null), ruleRecord),
    deleteRule: async (wanted) => (await write(db, 'DELETE FROM rules WHERE rule_id = $1', wanted)) === 1,
  };
}

const insertRule = `
  INSERT INTO rules
    (rule_id, principal, harness_id, scope, match, path_prefix, tool_name, args_digest, effect, session_id, run_id,
     made_by, created_at, tool_identity)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`;

/** One of the same id gives way. */
export async function putRule(tx: Transaction, rule: RuleRecord): Promise<void> {
  const { principal, harnessId: harness, scope, match, toolName, argsDigest, effect, by, createdAtMs } = rule;
  const matched = typeof match === 'string' ? [match, null] : ['path-prefix', match.pathPrefix];
  const made = [rule.sessionId, rule.runId, by, createdAtMs, rule.toolIdentity ?? null];
  await tx.run('DELETE FROM rules WHERE rule_id = $1', rule.ruleId);
  await tx.run(insertRule, rule.ruleId, principal, harness, scope, ...matched, toolName, argsDigest, effect, ...made);
}
