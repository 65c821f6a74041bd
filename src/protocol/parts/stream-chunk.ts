import type { ProviderMetadata, ToolInputDeltaPart, ToolInputEndPart, ToolInputStartPart } from './stream-part.ts';
import type { PartJson } from './part-json.ts';

interface Block<T extends string> {
  readonly type: T;
  readonly id: string;
  readonly providerMetadata?: ProviderMetadata;
}
interface Piece<T extends string> extends Block<T> {
  readonly text: string;
}

interface RanTool<T extends string> {
  readonly type: T;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly dynamic?: boolean;
  readonly providerMetadata?: ProviderMetadata;
}

/** What a change of a file or a compaction is shown as: a call of the runtime's own, and its result. */
interface Shown<T extends string> extends RanTool<T> {
  readonly input: PartJson;
  readonly dynamic: true;
  readonly providerExecuted: true;
}

/** Chunks of the AI SDK's `TextStreamPart`, as far as parts become them. */
export type StreamChunk =
  | Block<'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'>
  | Piece<'text-delta' | 'reasoning-delta'>
  | ToolInputStartPart
  | ToolInputDeltaPart
  | ToolInputEndPart
  | Shown<'tool-call'>
  | (Shown<'tool-result'> & { readonly output: PartJson })
  | (RanTool<'tool-result'> & { readonly input: undefined; readonly output: PartJson; readonly preliminary?: boolean })
  | (RanTool<'tool-error'> & { readonly input: undefined; readonly error: PartJson; readonly providerExecuted: true })
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'raw'; readonly rawValue: unknown };
