import type { JsonObject, JsonValue } from '../core/json.ts';
import type { EventData, ReplayPolicy } from '../core/run-event.ts';

export interface ToolContext {
  /** The same over all retries of one call: the handler's idempotency key (E-530). */
  readonly executionKey: string;
  readonly toolAttempt: number;
  /** Aborts on cancel and on the tool's timeout; a handler must stop then (E-536). */
  readonly signal: AbortSignal;
  /** Absolute path of the working directory. */
  readonly workspace: string;
}

export interface ToolOutput {
  /** What the model reads. */
  readonly content: string;
  readonly isError?: boolean;
  /** Files the call created, changed or removed: paths relative to the workspace, POSIX. */
  readonly files?: readonly EventData['file-changed'][];
}

/**
 * A tool that the model may call. `inputSchema` is JSON Schema; the engine has checked `input` against it before `run`.
 * Defaults: replay `manual`, concurrent `true`, 300 s timeout.
 */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** What kind of thing it does, for permission modes (E-521). */
  readonly useKind?: 'readonly' | 'edit' | 'execute' | 'network';
  readonly replay?: ReplayPolicy;
  readonly concurrent?: boolean;
  readonly timeoutSeconds?: number;
  run(input: JsonValue, context: ToolContext): Promise<ToolOutput>;
}
