import { jsonSchema, isStepCount, streamText, tool as defineTool } from 'ai';
import { toolSchema, type Contender } from './contender.ts';

export const aiSdk: Contender = async ({ model, tool, shape }) => {
  const { name, description, run } = tool;
  const inputSchema = jsonSchema<{ n: number }>(toolSchema);
  const { stream } = streamText({
    model,
    prompt: 'Go.',
    tools: { [name]: defineTool({ description, inputSchema, execute: async (input) => run(input) }) },
    stopWhen: isStepCount(shape.count + 1),
  });
  let shown = 0;
  for await (const part of stream) if (part.type === 'text-delta') shown += part.text.length;
  return shown;
};
