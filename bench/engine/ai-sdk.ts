import { isStepCount, jsonSchema, streamText, tool as defineTool } from 'ai';
import { toolSchema, type Contender, type EngineParts } from './contender.ts';

export function createAiSdk({ model, tool }: EngineParts): Contender {
  const { name, description, run } = tool;
  const inputSchema = jsonSchema<{ n: number }>({ ...toolSchema, required: [...toolSchema.required] });
  const tools = { [name]: defineTool({ description, inputSchema, execute: async (input) => run(input) }) };
  return {
    async run({ count }) {
      const { stream } = streamText({ model, prompt: 'Go.', tools, stopWhen: isStepCount(count + 1) });
      let shown = 0;
      for await (const part of stream) if (part.type === 'text-delta') shown += part.text.length;
      return shown;
    },
  };
}
