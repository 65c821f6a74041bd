// What an adapter of the AI SDK's harness specification looks like, as far as it is used here. Structural: an object of any
// package that fits is one.

import type { JsonValue } from '../../core/json.ts';

export interface HarnessV1 {
  readonly specificationVersion: 'harness-v1';
  /** Kebab-case. */
  readonly harnessId: string;
  /** By the names that `tool-call` parts carry. */
  readonly builtinTools: Readonly<Record<string, unknown>>;
  readonly supportsBuiltinToolApprovals?: boolean;
  readonly supportsBuiltinToolFiltering?: boolean;
  /** Of `LifecycleState.data`. */
  readonly lifecycleStateSchema?: unknown;
  getBootstrap?(options: { abortSignal: AbortSignal }): PromiseLike<unknown>;
  doStart(options: StartOptions): PromiseLike<V1Session>;
}

export interface StartOptions {
  readonly sessionId: string;
  readonly sandboxSession: SandboxSession;
  /** Absolute. */
  readonly sessionWorkDir: string;
  readonly permissionMode: 'allow-reads' | 'allow-all';
  readonly builtinToolFiltering?: { mode: 'deny'; toolNames: string[] };
  readonly resumeFrom?: ResumeState;
  readonly abortSignal: AbortSignal;
}

/** Between turns. `data` is the adapter's own. */
export interface ResumeState {
  readonly type: 'resume-session';
  readonly specificationVersion: 'harness-v1';
  readonly harnessId: string;
  readonly data: JsonValue;
}

export interface V1Session {
  readonly isResume: boolean;
  doPromptTurn(options: PromptTurnOptions): PromiseLike<PromptControl>;
  doStop(): PromiseLike<unknown>;
  doDestroy(): PromiseLike<void>;
}

export interface PromptTurnOptions {
  readonly prompt: string;
  readonly model: string;
  readonly skills: readonly V1Skill[];
  readonly instructions?: string;
  readonly tools: readonly never[];
  readonly abortSignal: AbortSignal;
  readonly emit: (part: unknown) => void;
}

export interface V1Skill {
  readonly name: string;
  readonly description: string;
  readonly content: string;
}

export interface PromptControl {
  submitToolResult(input: { toolCallId: string; output: unknown; isError?: boolean }): PromiseLike<void>;
  submitToolApproval?(input: { approvalId: string; approved: boolean; reason?: string }): PromiseLike<void>;
  submitUserMessage?(text: string): PromiseLike<void>;
  readonly done: PromiseLike<void>;
}

interface FileAt {
  readonly path: string;
  readonly abortSignal?: AbortSignal;
}

export interface CommandOptions {
  readonly command: string;
  readonly workingDirectory?: string;
  readonly env?: Record<string, string>;
  readonly abortSignal?: AbortSignal;
}

export interface SandboxProcess {
  readonly pid?: number;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  wait(): Promise<{ exitCode: number }>;
  kill(): Promise<void>;
}

/** Files and processes of the machine that an adapter works on. What does not exist is read as null. */
export interface SandboxSession {
  readonly description: string;
  readFile(file: FileAt): Promise<ReadableStream<Uint8Array> | null>;
  readBinaryFile(file: FileAt): Promise<Uint8Array | null>;
  /** Lines from 1, both ends included. */
  readTextFile(
    file: FileAt & { readonly encoding?: string; readonly startLine?: number; readonly endLine?: number },
  ): Promise<string | null>;
  writeFile(file: FileAt & { readonly content: ReadableStream<Uint8Array> }): Promise<void>;
  writeBinaryFile(file: FileAt & { readonly content: Uint8Array }): Promise<void>;
  writeTextFile(file: FileAt & { readonly content: string; readonly encoding?: string }): Promise<void>;
  spawn(options: CommandOptions): Promise<SandboxProcess>;
  run(options: CommandOptions): Promise<{ exitCode: number; stdout: string; stderr: string }>;
}
