import type { Contender, EngineParts } from './contender.ts';
import type { LanguageModelV4Prompt, LanguageModelV4ToolCall } from '@ai-sdk/provider';

/** The least that an agent can do: call, read, run the tool, call again. */
export function createBareLoop({ model, tool }: EngineParts): Contender {
  return {
    async run() {
      const prompt: LanguageModelV4Prompt = [{ role: 'user', content: [{ type: 'text', text: 'Go.' }] }];
      let shown = 0;
      for (;;) {
        const { stream } = await model.doStream({ prompt: [...prompt] });
        let call: LanguageModelV4ToolCall | null = null;
        let text = '';
        for await (const part of stream) {
          if (part.type === 'text-delta') text += part.delta;
          else if (part.type === 'tool-call') call = part;
        }
        shown += text.length;
        if (call === null) return shown;
        const { toolCallId, toolName, input } = call;
        const output = { type: 'text', value: tool.run(JSON.parse(input)) } as const;
        prompt.push({ role: 'assistant', content: [call] });
        prompt.push({ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] });
      }
    },
  };
}
