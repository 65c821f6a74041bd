import type { CompactionPart, FileChangePart, FinishReason, StreamPartType } from './stream-part.ts';

export const PartType = Object.freeze({
  StreamStart: 'stream-start',
  TextStart: 'text-start',
  TextDelta: 'text-delta',
  TextEnd: 'text-end',
  ReasoningStart: 'reasoning-start',
  ReasoningDelta: 'reasoning-delta',
  ReasoningEnd: 'reasoning-end',
  ToolInputStart: 'tool-input-start',
  ToolInputDelta: 'tool-input-delta',
  ToolInputEnd: 'tool-input-end',
  ToolCall: 'tool-call',
  ToolApprovalRequest: 'tool-approval-request',
  ToolResult: 'tool-result',
  FinishStep: 'finish-step',
  Finish: 'finish',
  FileChange: 'file-change',
  Compaction: 'compaction',
  Error: 'error',
  Raw: 'raw',
} as const satisfies Record<string, StreamPartType>);

export const FileChange = Object.freeze({
  Create: 'create',
  Modify: 'modify',
  Delete: 'delete',
} as const satisfies Record<string, FileChangePart['event']>);

export const CompactionTrigger = Object.freeze({
  Manual: 'manual',
  Auto: 'auto',
} as const satisfies Record<string, CompactionPart['trigger']>);

export const FinishReasons = Object.freeze({
  Stop: 'stop',
  Length: 'length',
  ContentFilter: 'content-filter',
  ToolCalls: 'tool-calls',
  Error: 'error',
  Other: 'other',
} as const satisfies Record<string, FinishReason['unified']>);
