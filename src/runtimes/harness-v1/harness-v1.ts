// What hosts of the AI SDK's harness specification find here, and what they give. Structural: it depends on no package of
// theirs, and `harness-v1.test-d.ts` holds it equal to the pinned one.

import type { StreamPart } from '../../protocol/parts/stream-part.ts';

/** An agent of ours for such a host. It holds an open store from its first session on, until it is closed. */
export interface ReinsHarnessV1 extends AsyncDisposable {
  readonly specificationVersion: 'harness-v1';
  readonly harnessId: string;
  /** Tools that are known before a session; those of a shell, of skills and of MCP servers are not, and are `dynamic`. */
  readonly builtinTools: Readonly<Record<string, BuiltinTool>>;
  readonly supportsBuiltinToolApprovals: true;
  readonly supportsBuiltinToolFiltering: true;
  readonly lifecycleStateSchema: AnySchema;
  /** @throws ReinsError  A state of another harness, or of a run that is not here: nothing was started. */
  doStart(options: StartOptions): Promise<V1Session>;
}

/** A Standard Schema (standardschema.dev) that any value passes: the engine has checked what its tools get. */
export interface AnySchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): SchemaResult | Promise<SchemaResult>;
    readonly jsonSchema?: {
      input(options: object): Record<string, unknown>;
      output(options: object): Record<string, unknown>;
    };
  };
}
type SchemaResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

export interface BuiltinTool {
  readonly description: string;
  readonly inputSchema: AnySchema;
  readonly toolUseKind?: 'readonly' | 'edit' | 'bash';
}

/** Where a turn stands in the log of its run. Of a session without a turn: null, 0. */
export interface TurnPlace {
  readonly runId: string | null;
  readonly seq: number;
}

interface StateBase {
  readonly harnessId: string;
  readonly specificationVersion: 'harness-v1';
}
export interface ContinueState extends StateBase {
  readonly type: 'continue-turn';
  readonly data: TurnPlace & Record<string, string | number | null>;
}
export interface ResumeState extends StateBase {
  readonly type: 'resume-session';
  readonly data: TurnPlace & Record<string, string | number | null>;
  readonly continueFrom?: ContinueState;
}
/** As one comes back: anybody may have written it. */
export interface GivenState {
  readonly type: string;
  readonly harnessId: string;
  readonly specificationVersion: string;
  readonly data?: unknown;
}

export interface StartOptions {
  readonly sessionId: string;
  readonly resumeFrom?: (GivenState & { readonly continueFrom?: GivenState | undefined }) | undefined;
  readonly continueFrom?: GivenState | undefined;
  /** Absent: everything is allowed. The agent's own permissions hold, too. */
  readonly permissionMode?: 'allow-all' | 'allow-edits' | 'allow-reads' | undefined;
  readonly builtinToolFiltering?:
    | { readonly mode: 'allow' | 'deny'; readonly toolNames: readonly string[] }
    | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

export interface HostToolSpec {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema. */
  readonly inputSchema?: object | undefined;
}

export interface HostSkill {
  readonly name: string;
  readonly description: string;
  readonly content: string;
  readonly files?: readonly { readonly path: string; readonly content: string }[];
}

export interface ContinueOptions {
  readonly tools: readonly HostToolSpec[];
  readonly abortSignal?: AbortSignal | undefined;
  emit(this: void, part: StreamPart): void;
}

export interface PromptOptions extends ContinueOptions {
  readonly prompt: string | { readonly content: unknown };
  readonly model?: string | undefined;
  readonly skills: readonly HostSkill[];
  readonly instructions?: string | undefined;
  readonly responseFormat?:
    | { readonly type: 'text' }
    | { readonly type: 'json'; readonly schema?: object | undefined }
    | undefined;
}

export interface TurnControl {
  /** Resolves when it is stored. */
  submitToolResult(result: ToolResult): Promise<void>;
  submitToolApproval(decision: Approval): Promise<void>;
  submitUserMessage(text: string): Promise<void>;
  /** Resolves at the end of the turn, or of this look at it; rejects with the reason of its signal. */
  readonly done: Promise<void>;
}
export interface ToolResult {
  readonly toolCallId: string;
  readonly output?: unknown;
  readonly isError?: boolean | undefined;
}
export interface Approval {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

export interface V1Session {
  readonly sessionId: string;
  readonly isResume: boolean;
  doPromptTurn(options: PromptOptions): Promise<TurnControl>;
  doContinueTurn(options: ContinueOptions): Promise<TurnControl>;
  /** Lets go of the turn at an exact place; the run goes on. */
  doSuspendTurn(): Promise<ContinueState>;
  doCompact(instructions?: string): Promise<void>;
  doDetach(): Promise<ResumeState>;
  doStop(): Promise<ResumeState>;
  doDestroy(): Promise<void>;
}

export type TurnSettingsGiven = Pick<PromptOptions, 'tools' | 'skills' | 'instructions' | 'responseFormat'> &
  Pick<StartOptions, 'permissionMode' | 'builtinToolFiltering'>;
