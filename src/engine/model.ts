import type { JsonObject } from '../core/json.ts';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';

/**
 * A model as the engine sees it: the streaming half of the AI SDK's `LanguageModelV4`, so that every provider package
 * fits and a scripted model is thirty lines. Read only by `call-model.ts`.
 */
export type Model = Pick<LanguageModelV4, 'provider' | 'modelId' | 'doStream'>;
export type ModelRequest = LanguageModelV4CallOptions;

/** How a provider behaves where its protocol does not say (E-302, E-303, E-306). */
export interface ModelTraits {
  /** Answers promptly, so a late first chunk is a fault (Anthropic). */
  readonly firstEventPromptly?: boolean;
  /** A compatible server that may leave the finish reason out of a text reply. */
  readonly allowMissingFinishReasonForText?: boolean;
  /** Any byte, such as a comment that keeps the connection alive, is progress: it is silent while it reads long prompts. */
  readonly keepAliveIsProgress?: boolean;
  /** Whether an error of its client may pass; undefined, or a throw: as it looks to everyone (E-205). */
  readonly isTransient?: (error: unknown) => boolean | undefined;
}

export interface OpenedModel {
  readonly model: Model;
  readonly traits: ModelTraits;
  /** Output tokens the model can give in one reply; null = unknown. */
  readonly maxOutputTokens: number | null;
  /** Tokens of its window, request and reply together; null = unknown. */
  readonly contextTokens?: number | null;
  /** Media types it takes, such as `image/*`; absent: text alone. */
  readonly accepts?: readonly string[];
  /** Sent with every request to this model, such as OpenAI's `store: false`. */
  readonly providerOptions?: Record<string, JsonObject>;
}
