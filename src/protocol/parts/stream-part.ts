// The parts of a harness turn, as two SDKs write them: a TypeScript and a Go one. Held equal to `HarnessV1StreamPart`, but for
// `ToolResultPart.result`, which is null in practice where that type says it cannot be (P-009).
//
// Absent means unknown or unsaid, never zero or false. In decoded parts the token counts and `FinishReason.raw` are present
// keys that may be undefined.

import type { PartJson, PartJsonObject } from './part-json.ts';

/** By harness id: what an adapter has to say beside its parts. */
export type Metadata = Record<string, Record<string, PartJson>>;
/** By provider id. */
export type ProviderMetadata = Record<string, PartJsonObject>;

export type FinishReason = {
  unified: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';
  /** The provider's own word. */
  raw: string | undefined;
};

export type InputTokenUsage = {
  /** The whole prompt, cached or not. */
  total: number | undefined;
  noCache: number | undefined;
  cacheRead: number | undefined;
  cacheWrite: number | undefined;
};
export type OutputTokenUsage = {
  total: number | undefined;
  text: number | undefined;
  reasoning: number | undefined;
};
export type Usage = { inputTokens: InputTokenUsage; outputTokens: OutputTokenUsage; raw?: PartJsonObject };

export type CallWarning =
  | { type: 'unsupported-setting'; setting: string; details?: string }
  | { type: 'unsupported-tool'; tool: string; details?: string }
  | { type: 'other'; message: string };

/** A turn begins. `modelId`: what the runtime made of the model it was asked for. */
export type StreamStartPart = { type: 'stream-start'; warnings?: readonly CallWarning[]; modelId?: string };

export type TextStartPart = { type: 'text-start'; id: string; harnessMetadata?: Metadata };
export type TextDeltaPart = { type: 'text-delta'; id: string; delta: string; harnessMetadata?: Metadata };
export type TextEndPart = { type: 'text-end'; id: string; harnessMetadata?: Metadata };
export type ReasoningStartPart = { type: 'reasoning-start'; id: string; harnessMetadata?: Metadata };
export type ReasoningDeltaPart = { type: 'reasoning-delta'; id: string; delta: string; harnessMetadata?: Metadata };
export type ReasoningEndPart = { type: 'reasoning-end'; id: string; harnessMetadata?: Metadata };

/** `id` is the `toolCallId` of the call that follows. */
export type ToolInputStartPart = {
  type: 'tool-input-start';
  id: string;
  toolName: string;
  providerExecuted?: boolean;
  dynamic?: boolean;
  title?: string;
  providerMetadata?: ProviderMetadata;
};
export type ToolInputDeltaPart = {
  type: 'tool-input-delta';
  id: string;
  delta: string;
  providerMetadata?: ProviderMetadata;
};
export type ToolInputEndPart = { type: 'tool-input-end'; id: string; providerMetadata?: ProviderMetadata };

export type ToolCallPart = {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  /** JSON text. */
  input: string;
  /** True: the runtime runs it. Else the host has to. */
  providerExecuted?: boolean;
  dynamic?: boolean;
  /** The runtime's own name, where it differs from `toolName`. */
  nativeName?: string;
  /** On every call of a step whose calls are all known before the first one runs; at least 1. */
  stepToolCallCount?: number;
  providerMetadata?: ProviderMetadata;
};
/** The runtime waits for a decision. */
export type ToolApprovalRequestPart = {
  type: 'tool-approval-request';
  approvalId: string;
  toolCallId: string;
  providerMetadata?: ProviderMetadata;
};
export type ToolResultPart = {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  result: PartJson;
  isError?: boolean;
  /** More of it follows. */
  preliminary?: boolean;
  dynamic?: boolean;
  providerMetadata?: ProviderMetadata;
};

/** One model step ended. */
export type FinishStepPart = {
  type: 'finish-step';
  finishReason: FinishReason;
  usage: Usage;
  harnessMetadata?: Metadata;
};
/** The turn ended. */
export type FinishPart = { type: 'finish'; finishReason: FinishReason; totalUsage: Usage; harnessMetadata?: Metadata };

/** A file changed in a way that no call shows. */
export type FileChangePart = {
  type: 'file-change';
  event: 'create' | 'modify' | 'delete';
  path: string;
  harnessMetadata?: Metadata;
};
/** The runtime has shortened its context; said once, when it is done. */
export type CompactionPart = {
  type: 'compaction';
  trigger: 'manual' | 'auto';
  summary: string;
  tokensBefore?: number;
  tokensAfter?: number;
  harnessMetadata?: Metadata;
};
/** Ends the turn. */
export type ErrorPart = { type: 'error'; error: unknown };
export type RawPart = { type: 'raw'; rawValue: unknown };

export type StreamPart =
  | StreamStartPart
  | TextStartPart
  | TextDeltaPart
  | TextEndPart
  | ReasoningStartPart
  | ReasoningDeltaPart
  | ReasoningEndPart
  | ToolInputStartPart
  | ToolInputDeltaPart
  | ToolInputEndPart
  | ToolCallPart
  | ToolApprovalRequestPart
  | ToolResultPart
  | FinishStepPart
  | FinishPart
  | FileChangePart
  | CompactionPart
  | ErrorPart
  | RawPart;

export type StreamPartType = StreamPart['type'];
export type PartOf<T extends StreamPartType> = Extract<StreamPart, { type: T }>;

/** The same parts, seen by who reads them. */
export type AgentStreamPart = StreamPart;
export type EmitPart = (part: StreamPart) => void;
