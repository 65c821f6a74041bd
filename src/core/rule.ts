import type { RuleId } from './ids.ts';

/** A remembered decision, as far as it decides later calls: never across tool names, never over a `deny` (E-609). */
export interface Rule {
  readonly ruleId: RuleId;
  readonly toolName: string;
  readonly match: 'tool' | 'exact-args' | { readonly pathPrefix: string };
  /** Of the call that was decided, for `exact-args`. */
  readonly argsDigest: string;
  /** What the tool was when it was decided: a changed one is not allowed by it (E-903). Absent: it is ours. */
  readonly toolIdentity?: string;
  readonly effect: 'allow' | 'deny';
}
