// `reins/parts`: the parts of harness turns as JSON, read leniently and written strictly. Needs nothing but a language.

export { addUsage, emptyUsage } from './usage.ts';
export { CompactionTrigger, FileChange, FinishReasons, PartType } from './part-type.ts';
export { createToolOrigins, type ToolOrigins } from './tool-origins.ts';
export { createWorkDirStripper } from './work-dir-stripper.ts';
export { decodeStreamPart } from './decode-stream-part.ts';
export { isStreamPartType } from './part-shapes.ts';
export { marshalStreamPart } from './marshal-stream-part.ts';
export { marshalTagged } from './marshal-tagged.ts';
export { readStreamPart, type ReadPart } from './read-stream-part.ts';
export { readTagged, type PartLimits, type Tagged } from './read-tagged.ts';
export { requireKeys } from './require-keys.ts';
export {
  StreamPartError,
  UnknownPartTypeError,
  type StreamPartErrorCode,
  type StreamPartFault,
} from './stream-part-error.ts';
export { stripWorkDir } from './strip-work-dir.ts';
export { toUIMessageChunks, type ToUIMessageChunksOptions, type UIMessageChunk } from './to-ui-message-chunks.ts';
export { translatePart, type TranslateOptions } from './translate-part.ts';
export { TurnAssembler, type BoundaryChunk, type TurnAssemblerOptions } from './turn-assembler.ts';
export { AdapterProtocolError, IncompleteStreamError } from '../../core/errors.ts';
export type { PartJson, PartJsonObject } from './part-json.ts';
export type { StreamChunk } from './stream-chunk.ts';
export type {
  AgentStreamPart,
  CallWarning,
  CompactionPart,
  EmitPart,
  ErrorPart,
  FileChangePart,
  FinishPart,
  FinishReason,
  FinishStepPart,
  InputTokenUsage,
  Metadata,
  OutputTokenUsage,
  PartOf,
  ProviderMetadata,
  RawPart,
  ReasoningDeltaPart,
  ReasoningEndPart,
  ReasoningStartPart,
  StreamPart,
  StreamPartType,
  StreamStartPart,
  TextDeltaPart,
  TextEndPart,
  TextStartPart,
  ToolApprovalRequestPart,
  ToolCallPart,
  ToolInputDeltaPart,
  ToolInputEndPart,
  ToolInputStartPart,
  ToolResultPart,
  Usage,
} from './stream-part.ts';
