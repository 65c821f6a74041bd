// The names of the semantic conventions for generative AI (1.41, still in development there), and how our words map to them.
// What they have no word for begins with `reins.`.

import type { Attributes } from '@opentelemetry/api';
import type { ModelRef } from '../../core/outcome.ts';
import type { RunEventOf, RunStarted } from '../../core/run-event.ts';
import type { Usage } from '../../core/usage.ts';

/** Providers that the conventions call otherwise. */
const providerNames: ReadonlyMap<string, string> = new Map([
  ['google', 'gcp.gemini'],
  ['azure', 'azure.ai.openai'],
]);

/** On every span of a leg. */
export function placeAttributes({ runId, sessionId, data }: RunEventOf<'run-started'>): Attributes {
  return { 'gen_ai.conversation.id': sessionId, 'reins.run.id': runId, 'reins.run.leg': data.leg };
}

export function agentAttributes({ agent, task, cause, requestId }: RunStarted, name: string | undefined): Attributes {
  return {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': name,
    'gen_ai.agent.version': agent?.version ?? undefined,
    'gen_ai.agent.id': task?.harnessId,
    'reins.run.cause': cause,
    'reins.request.id': requestId,
  };
}

export function modelAttributes({ provider, model }: ModelRef): Attributes {
  return { 'gen_ai.provider.name': providerNames.get(provider) ?? provider, 'gen_ai.request.model': model };
}

/** Absent is not zero: a number that nobody gave is left out. */
export function usageAttributes(usage: Usage | null): Attributes {
  return {
    'gen_ai.usage.input_tokens': usage?.inputTokens ?? undefined,
    'gen_ai.usage.output_tokens': usage?.outputTokens ?? undefined,
    'gen_ai.usage.cache_read.input_tokens': usage?.cacheReadInputTokens ?? undefined,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheCreationInputTokens ?? undefined,
    'gen_ai.usage.reasoning.output_tokens': usage?.thinkingTokens ?? undefined,
  };
}

export function replyAttributes({ data }: RunEventOf<'turn-complete'>): Attributes {
  return {
    ...usageAttributes(data.usage),
    'gen_ai.response.model': data.served?.model,
    'gen_ai.response.finish_reasons': [data.rawFinishReason ?? data.finishReason],
  };
}

export function resultAttributes({ data }: RunEventOf<'run-result'>, leg: number): Attributes {
  return {
    // A later leg's result counts the legs before it, too: said again, their tokens would be summed twice.
    ...usageAttributes(leg === 1 ? data.usage : null),
    'gen_ai.response.model': data.model.served?.model,
    'gen_ai.response.finish_reasons': data.stopReason === null ? undefined : [data.stopReason],
    'reins.run.status': data.status,
  };
}
