import type { JsonObject } from '../../core/json.ts';
import type { RunPermissions } from '../../core/run-config.ts';
import type { Rule } from '../../core/rule.ts';
import type { UseKind } from './native-fact.ts';

export interface Judgement {
  readonly level: 'allow' | 'ask' | 'deny';
  /** What decided: `policy` or `rule:<id>`. */
  readonly authority: string;
}

/** Decides on a call of a runtime by the very rules that decide on calls of the engine (H-040); given by who composes. */
export type JudgeCall = (
  call: {
    readonly name: string;
    readonly useKind: UseKind | undefined;
    readonly input: JsonObject;
    /** Files that it names; absent: none. */
    readonly paths: readonly string[] | undefined;
    readonly argsDigest: string;
    readonly workspace: string;
  },
  settings: { readonly permissions: RunPermissions | undefined; readonly rules: readonly Rule[] },
) => Promise<Judgement>;
