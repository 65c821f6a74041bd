import type { HarnessId, RuleId, SessionId } from '../../core/ids.ts';

/** A remembered decision (UR-15). */
export type UhpRule = {
  readonly id: RuleId;
  readonly object: 'reins.rule';
  readonly scope: 'run' | 'session' | 'agent';
  readonly match: 'tool' | 'exact-args' | { readonly path_prefix: string };
  /** Of the tool. */
  readonly name: string;
  readonly effect: 'allow' | 'deny';
  /** Where it was made; it reaches as far as its scope says. */
  readonly session_id: SessionId;
  readonly harness_id: HarnessId;
  readonly by: string;
  /** Unix seconds. */
  readonly created_at: number;
};

export function toUhpRule(rule: {
  readonly ruleId: RuleId;
  readonly scope: UhpRule['scope'];
  readonly match: 'tool' | 'exact-args' | { readonly pathPrefix: string };
  readonly toolName: string;
  readonly effect: UhpRule['effect'];
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly by: string;
  readonly createdAtMs: number;
}): UhpRule {
  return {
    id: rule.ruleId,
    object: 'reins.rule',
    scope: rule.scope,
    match: typeof rule.match === 'string' ? rule.match : { path_prefix: rule.match.pathPrefix },
    name: rule.toolName,
    effect: rule.effect,
    session_id: rule.sessionId,
    harness_id: rule.harnessId,
    by: rule.by,
    created_at: Math.floor(rule.createdAtMs / 1000),
  };
}
