import { agentLoop, type AgentLoopConfig, type AgentTool, type StreamFn } from '@earendil-works/pi-agent-core';
import { createAssistantMessageEventStream, type AssistantMessage, type Model } from '@earendil-works/pi-ai';
import { toolSchema, type Contender, type EngineParts } from './contender.ts';
import type { LanguageModelV4 } from '@ai-sdk/provider';

export function createPiAgent({ model, tool }: EngineParts): Contender {
  const { name, description, run } = tool;
  const counter: AgentTool = {
    name,
    label: name,
    description,
    parameters: toolSchema,
    execute: async (_, input) => ({ content: [{ type: 'text', text: run(input) }], details: null }),
  };
  const config: AgentLoopConfig = { model: modelFacts, convertToLlm };
  const stream = adapt(model);
  return {
    async run() {
      const asked = { role: 'user' as const, content: 'Go.', timestamp: Date.now() };
      let shown = 0;
      for await (const event of agentLoop([asked], { messages: [], tools: [counter] }, config, undefined, stream))
        if (event.type === 'message_update' && event.assistantMessageEvent.type === 'text_delta')
          shown += event.assistantMessageEvent.delta.length;
      return shown;
    },
  };
}

const convertToLlm: AgentLoopConfig['convertToLlm'] = (messages) => messages;

/** The shared model as that package wants one. */
function adapt(model: LanguageModelV4): StreamFn {
  return () => {
    const events = createAssistantMessageEventStream();
    const pump = async () => {
      const { stream } = await model.doStream({ prompt: [] });
      const partial: AssistantMessage = { ...emptyMessage, content: [], timestamp: Date.now() };
      events.push({ type: 'start', partial });
      const text = { type: 'text' as const, text: '' };
      for await (const part of stream) {
        if (part.type === 'text-start') {
          partial.content.push(text);
          events.push({ type: 'text_start', contentIndex: 0, partial });
        } else if (part.type === 'text-delta') {
          text.text += part.delta;
          events.push({ type: 'text_delta', contentIndex: 0, delta: part.delta, partial });
        } else if (part.type === 'text-end') {
          events.push({ type: 'text_end', contentIndex: 0, content: text.text, partial });
        } else if (part.type === 'tool-call') {
          const { toolCallId: id, toolName: name, input } = part;
          const toolCall = { type: 'toolCall', id, name, arguments: JSON.parse(input) } as const;
          partial.content.push(toolCall);
          partial.stopReason = 'toolUse';
          events.push({ type: 'toolcall_start', contentIndex: 0, partial });
          events.push({ type: 'toolcall_delta', contentIndex: 0, delta: input, partial });
          events.push({ type: 'toolcall_end', contentIndex: 0, toolCall, partial });
        }
      }
      const reason = partial.stopReason === 'toolUse' ? 'toolUse' : 'stop';
      events.push({ type: 'done', reason, message: partial });
      events.end();
    };
    pump().catch((error: unknown) => {
      throw error;
    });
    return events;
  };
}

const noCost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const emptyMessage: Omit<AssistantMessage, 'content' | 'timestamp'> = {
  role: 'assistant',
  api: 'bench',
  provider: 'bench',
  model: 'bench-1',
  usage: { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: noCost },
  stopReason: 'stop',
};
const modelFacts: Model<'bench'> = {
  id: 'bench-1',
  name: 'bench-1',
  api: 'bench',
  provider: 'bench',
  baseUrl: 'http://bench.invalid',
  reasoning: false,
  input: ['text'],
  cost: noCost,
  contextWindow: 1_000_000_000,
  maxTokens: 1_000,
};
