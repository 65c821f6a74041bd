import {
  Agent,
  run,
  setTracingDisabled,
  tool as defineTool,
  Usage,
  type Model,
  type StreamEvent,
} from '@openai/agents';
import { toolSchema, type Contender, type EngineParts } from './contender.ts';
import type { LanguageModelV4 } from '@ai-sdk/provider';

export function createOpenaiAgents({ model, tool }: EngineParts): Contender {
  setTracingDisabled(true);
  const { name, description, run: execute } = tool;
  const counter = defineTool({
    name,
    description,
    parameters: { ...toolSchema, required: ['n'] },
    strict: true,
    execute,
  });
  const agent = new Agent({ name: 'bench', model: adapt(model), tools: [counter] });
  return {
    async run({ count }) {
      const stream = await run(agent, 'Go.', { stream: true, maxTurns: count + 1 });
      let shown = 0;
      for await (const event of stream)
        if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
          shown += event.data.delta.length;
      await stream.completed;
      return shown;
    },
  };
}

/** The shared model as that package wants one. */
function adapt(model: LanguageModelV4): Model {
  return {
    getResponse: () => Promise.reject(new Error('This model only streams.')),
    async *getStreamedResponse() {
      const { stream } = await model.doStream({ prompt: [] });
      let text = '';
      const calls: Extract<Output[number], { type: 'function_call' }>[] = [];
      yield { type: 'response_started' };
      for await (const part of stream) {
        if (part.type === 'text-delta') {
          text += part.delta;
          yield { type: 'output_text_delta', delta: part.delta };
        } else if (part.type === 'tool-call') {
          const { toolCallId: callId, toolName: name, input } = part;
          calls.push({ type: 'function_call', id: callId, callId, name, arguments: input, status: 'completed' });
        }
      }
      const output: Output = calls.length > 0 ? calls : [messageOf(text)];
      yield {
        type: 'response_done',
        response: { id: 'reply', usage: new Usage({ inputTokens: 10, outputTokens: 5, totalTokens: 15 }), output },
      };
    },
  };
}

type Output = Extract<StreamEvent, { type: 'response_done' }>['response']['output'];

function messageOf(text: string): Output[number] {
  return {
    type: 'message',
    id: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text }],
  };
}
