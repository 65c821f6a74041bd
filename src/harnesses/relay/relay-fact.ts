import type { FailureClass } from '../../core/provider-failure.ts';
import type { Usage } from '../../core/usage.ts';

/**
 * As the provider named it, or as the relay did where the provider said nothing. What the relay itself refused has a type of
 * ours: `reins_budget`, `reins_model` or `reins_revoked`.
 */
export interface RelayError {
  readonly type: string | null;
  readonly message: string;
}

export type RelayNews =
  /** `model` as asked for; null: none was named. `tools`: how many the model is offered; absent: not known. */
  | { readonly at: 'asked'; readonly model: string | null; readonly atMs: number; readonly tools?: number }
  /** The provider's own status, whatever the runtime is told. `failure`: what an error status means. */
  | {
      readonly at: 'answered';
      readonly status: number;
      readonly retryAfterMs: number | null;
      readonly failure?: FailureClass;
    }
  /** The reply goes on: pings and comments do not count. At most one a second. */
  | { readonly at: 'byte'; readonly atMs: number }
  /** Again when the reply names another one later on. */
  | { readonly at: 'served'; readonly model: string }
  /** Once, before the end; of a cut reply what was known by then. Never: nothing is known. */
  | { readonly at: 'usage'; readonly usage: Usage }
  /**
   * `whole`: the runtime has all of it, an error event included. `cut`: the provider broke off or was not reached. `aborted`:
   * by the runtime, or by revoking. `refused`: an error status, by the provider or by the relay. `finishReason` in the wire's
   * own words. `calls`: how many tools of the runtime the reply calls, where the wire is read for it: Responses and chat completions.
   */
  | {
      readonly at: 'ended';
      readonly how: 'whole' | 'cut' | 'aborted' | 'refused';
      readonly finishReason: string | null;
      readonly error: RelayError | null;
      readonly calls?: number;
    };

/** What the relay saw of one model call (H-203); calls of a lease are counted from 1 in the order in which they came. */
export type RelayFact = RelayNews & { readonly request: number };
