import { z } from 'zod';
import { dataFrame } from '../model-servers/wire-protocol.ts';
import { joinTexts, schemaProperties, textOrParts, type Turn } from './conversation.ts';
import { replyUsage, type HarnessWire, type ModelReply } from './harness-wire.ts';
import type { Beat } from '../model-servers/reply-script.ts';

const finishReasons = { stop: 'stop', 'tool-calls': 'tool_calls', length: 'length' };
const usage = {
  prompt_tokens: replyUsage.input,
  completion_tokens: replyUsage.output,
  total_tokens: replyUsage.total,
};
const errorCodes = new Map([
  [401, 'invalid_api_key'],
  [404, 'model_not_found'],
  [429, 'rate_limit_exceeded'],
]);

const request = z.object({
  messages: z.array(z.object({ role: z.string(), content: textOrParts })),
  tools: z.array(z.object({ function: z.object({ name: z.string(), parameters: schemaProperties }) })).default([]),
});

/** OpenAI's error body, which the Responses API shares. */
export const openaiErrorBody = (status: number, message: string) => ({
  error: {
    message,
    type: status >= 500 ? 'server_error' : 'invalid_request_error',
    code: errorCodes.get(status) ?? (status >= 500 ? 'server_error' : 'invalid_request'),
    param: null,
  },
});

/** Chat completions (9.4). */
export const chatWire: HarnessWire = {
  read(body) {
    const { messages, tools } = request.parse(body);
    return {
      system: joinTexts(messages.filter(({ role }) => role === 'system').map(({ content }) => ({ text: content }))),
      turns: messages
        .filter(({ role }) => role === 'user' || role === 'tool')
        .map(({ role, content }): Turn => ({ from: role === 'tool' ? 'tool' : 'user', text: content })),
      tools: tools.map((tool) => ({
        kind: 'function',
        name: tool.function.name,
        properties: tool.function.parameters,
      })),
    };
  },
  beats(reply) {
    const frame = (kind: 'start' | 'delta' | 'end', delta: object, finish: string | null = null): Beat<string> => ({
      kind,
      item: dataFrame({
        ...base(reply, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, finish_reason: finish }],
      }),
    });
    return [
      frame('start', { role: 'assistant', content: '' }),
      ...reply.thinking.map((piece) => frame('delta', { reasoning_content: piece })),
      ...reply.text.map((content) => frame('delta', { content })),
      ...callsOf(reply).flatMap(({ function: call, ...rest }, index) => [
        frame('delta', { tool_calls: [{ index, ...rest, function: { ...call, arguments: '' } }] }),
        frame('delta', { tool_calls: [{ index, function: { arguments: call.arguments } }] }),
      ]),
      frame('end', {}, finishReasons[reply.finish]),
      { kind: 'end', item: dataFrame({ ...base(reply, 'chat.completion.chunk'), choices: [], usage }) },
      { kind: 'end', item: 'data: [DONE]\n\n' },
    ];
  },
  whole(reply) {
    const calls = reply.calls.length > 0 ? { tool_calls: callsOf(reply) } : {};
    const message = { role: 'assistant', content: reply.text.join(''), ...calls };
    return {
      ...base(reply, 'chat.completion'),
      choices: [{ index: 0, message, finish_reason: finishReasons[reply.finish] }],
      usage,
    };
  },
  errorBody: openaiErrorBody,
};

const base = ({ id, model }: ModelReply, object: string) => ({ id: `chatcmpl-${id}`, object, created: 1, model });

const callsOf = ({ calls }: ModelReply) =>
  calls.map(({ id, tool, input }) => ({
    id: `call_${id}`,
    type: 'function',
    function: { name: tool.name, arguments: input },
  }));
