import type { JsonObject, JsonValue } from '../core/json.ts';
import type { EventData, PendingTool, ReplayPolicy } from '../core/run-event.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { Usage } from '../core/usage.ts';

export interface ToolContext {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** The same over all retries of one call: the handler's idempotency key (E-530). */
  readonly executionKey: string;
  readonly toolAttempt: number;
  /** Aborts on cancel and on the tool's timeout; a handler must stop then (E-536). */
  readonly signal: AbortSignal;
  /** Absolute path of the folder that the run works in. */
  readonly workspace: string;
  /** Where in it relative paths begin: segments joined by `/`; absent: at its root. */
  readonly directory?: string;
  /** What the person said who approved this very call (P-089); absent: nothing, or nobody was asked. */
  readonly approvalNote?: string;
  /** Shows a piece of output while the tool works: well-formed text, in order. What the model reads is `content` alone. */
  show(text: string): void;
}

/** An image or file that a tool gives back; it is kept by reference and shown to models that can take it (E-552). */
export interface ToolMedia {
  readonly mediaType: string;
  readonly data: Uint8Array;
}

export interface ToolOutput {
  /** What the model reads. */
  readonly content: string;
  readonly media?: readonly ToolMedia[];
  readonly isError?: boolean;
  /** Files the call created, changed or removed: paths relative to the workspace, POSIX. */
  readonly files?: readonly EventData['file-changed'][];
  /** What the call started and could not stop, in words (E-817). */
  readonly unstopped?: readonly string[];
  /** What a run that the call started has used; null: it is not known. Absent: it started none. */
  readonly usage?: Usage | null;
  /** Whether there is more that nobody knows. Absent: no. */
  readonly usageIncomplete?: boolean;
  /** The call has not ended: a run that it started waits for these, or, where there are none, is paused. It is run again once
   * they are decided (E-612), or its own run is resumed (E-819). */
  readonly waitsFor?: readonly PendingTool[];
}

/** What kind of thing a tool does, for permission modes (E-521). */
export type UseKind = 'readonly' | 'edit' | 'execute' | 'network';
export type PermissionLevel = 'allow' | 'ask' | 'deny';

/** Retries of a handler that throws a `TransientToolError`; only for `safe` and `idempotent` tools (E-544). */
export interface ToolRetry {
  readonly attempts: number;
  readonly backoffSeconds: number;
  readonly maxBackoffSeconds: number;
  /** Whether an error result that looks transient is retried as well. */
  readonly retryErrorResults: boolean;
}

/**
 * A tool that the model may call. `inputSchema` is JSON Schema; the engine has checked `input` against it before `run`.
 * Defaults: replay `manual`, concurrent `true`, 300 s timeout, the policy's own permission and retry.
 */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** Of a tool that others may change: a hash of what it is. Its approvals and rules hold for that alone (E-903). */
  readonly identity?: string;
  readonly useKind?: UseKind;
  readonly permission?: PermissionLevel;
  readonly replay?: ReplayPolicy;
  /** What becomes of a manual call whose outcome is unknown; absent: the run's own choice (E-542). */
  readonly onUnknown?: 'park' | 'tell-model';
  readonly concurrent?: boolean;
  /** null = no limit. */
  readonly timeoutSeconds?: number | null;
  readonly retry?: ToolRetry;
  /** How long it may take to stop when told to, where that is longer than the policy's patience with tools (E-536). */
  readonly stopsWithinSeconds?: number;
  /** The run that a call starts, if it starts one (E-905). */
  childRunId?(executionKey: string): RunId;
  run(input: JsonValue, context: ToolContext): Promise<ToolOutput>;
}

export interface ToolListing {
  readonly tools: readonly Tool[];
  /** What is missing, as `mcp:<name>` (E-903). */
  readonly degraded: readonly string[];
  /** For the system prompt; absent: nothing. The same while the tools are the same. */
  readonly guidance?: string;
}

/** Tools that come and go, such as those of an MCP server. Asked before each step. */
export interface ToolSource extends AsyncDisposable {
  /** The tools as they are now. Never rejects. */
  list(): Promise<ToolListing>;
}
