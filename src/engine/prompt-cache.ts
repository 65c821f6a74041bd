// Marks for prompt caches that have to be asked for. A provider reads what it cached at a mark of an earlier request, so the
// end of that request is marked again; a mark is no part of what is compared.

import type { JsonObject } from '../core/json.ts';
import type { Model } from './model.ts';
import type { PromptCachePolicy } from './policies.ts';
import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';

/** Anthropic's own models, there or behind OpenRouter; other caches need no marks. */
export function takesCacheMarks({ provider, modelId }: Pick<Model, 'provider' | 'modelId'>): boolean {
  const [name] = provider.split('.');
  return name === 'anthropic' || (name === 'openrouter' && modelId.startsWith('anthropic/'));
}

/**
 * The prompt with at most three marks: on the system prompt, which follows the tools; on what stands before the newest
 * reply, the end of the request before; on its own end. Part by part, because a mark on a message of several results
 * counts once for each of them with OpenRouter. A reply that is handed back for more bears none.
 */
export function markPrompt(prompt: LanguageModelV4Prompt, { ttl }: PromptCachePolicy): LanguageModelV4Prompt {
  const mark: JsonObject = ttl === '5m' ? { type: 'ephemeral' } : { type: 'ephemeral', ttl };
  const newest = prompt.findLastIndex(({ role }) => role === 'assistant');
  const marked = new Set([newest - 1, prompt.length - 1]);
  return prompt.map((message, index) =>
    message.role === 'system' || marked.has(index) ? withMark(message, mark) : message,
  );
}

function withMark(message: LanguageModelV4Message, cacheControl: JsonObject): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { ...message, providerOptions: { anthropic: { cacheControl } } };
    case 'user':
      return { ...message, content: markLast(message.content, cacheControl) };
    case 'tool':
      return { ...message, content: markLast(message.content, cacheControl) };
    case 'assistant':
      return message;
  }
}

function markLast<P extends object>(parts: readonly P[], cacheControl: JsonObject): P[] {
  return parts.map((part, index) =>
    index === parts.length - 1 ? { ...part, providerOptions: { anthropic: { cacheControl } } } : part,
  );
}
