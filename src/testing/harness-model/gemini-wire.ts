import { z } from 'zod';
import { dataFrame } from '../model-servers/wire-protocol.ts';
import { joinTexts, schemaProperties, type Turn } from './conversation.ts';
import { replyUsage, type HarnessWire, type ModelReply } from './harness-wire.ts';
import type { Beat } from '../model-servers/reply-script.ts';

const finishReasons = { stop: 'STOP', 'tool-calls': 'STOP', length: 'MAX_TOKENS' };
const errorStatuses = new Map([
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [404, 'NOT_FOUND'],
  [429, 'RESOURCE_EXHAUSTED'],
]);
const usageMetadata = {
  promptTokenCount: replyUsage.input,
  candidatesTokenCount: replyUsage.output,
  totalTokenCount: replyUsage.total,
};

const part = z.object({
  text: z.string().catch(''),
  functionResponse: z.object({ response: z.unknown() }).optional(),
});
const content = z.object({ role: z.string().default('user'), parts: z.array(part).default([]) });
const declaration = z.object({
  name: z.string(),
  parametersJsonSchema: schemaProperties,
  parameters: schemaProperties,
});
const request = z.object({
  systemInstruction: content.optional(),
  contents: z.array(content),
  tools: z.array(z.object({ functionDeclarations: z.array(declaration).default([]) })).default([]),
});

/** Gemini `generateContent` and its stream (9.5). */
export const geminiWire: HarnessWire = {
  read(body) {
    const { systemInstruction, contents, tools } = request.parse(body);
    return {
      system: joinTexts(systemInstruction?.parts ?? []),
      turns: contents.filter(({ role }) => role !== 'model').flatMap(({ parts }) => turnsOf(parts)),
      tools: tools
        .flatMap(({ functionDeclarations }) => functionDeclarations)
        .map(({ name, parametersJsonSchema, parameters }) => ({
          kind: 'function',
          name,
          properties: { ...parameters, ...parametersJsonSchema },
        })),
    };
  },
  beats(reply) {
    const frame = (kind: 'delta' | 'end', parts: readonly object[], finish: object = {}): Beat<string> => ({
      kind,
      item: escaped(dataFrame(chunk(reply, parts, finish))),
    });
    return [
      // A summary of thoughts comes whole.
      ...(reply.thinking.length > 0 ? [frame('delta', [{ text: reply.thinking.join(''), thought: true }])] : []),
      ...reply.text.map((text) => frame('delta', [{ text }])),
      ...(reply.calls.length > 0 ? [frame('delta', callsOf(reply))] : []),
      frame('end', [{ text: '' }], { finishReason: finishReasons[reply.finish] }),
    ];
  },
  whole: (reply) =>
    chunk(
      reply,
      [
        ...(reply.thinking.length > 0 ? [{ text: reply.thinking.join(''), thought: true }] : []),
        ...(reply.text.length > 0 ? [{ text: reply.text.join('') }] : []),
        ...callsOf(reply),
      ],
      { finishReason: finishReasons[reply.finish] },
    ),
  errorBody: (status, message) => ({
    error: { code: status, message, status: errorStatuses.get(status) ?? 'INTERNAL' },
  }),
};

const turnsOf = (parts: readonly z.infer<typeof part>[]): Turn[] => [
  ...parts.flatMap(({ functionResponse }): Turn[] =>
    functionResponse === undefined ? [] : [{ from: 'tool', text: JSON.stringify(functionResponse.response) ?? '' }],
  ),
  ...parts.flatMap(({ text }): Turn[] => (text === '' ? [] : [{ from: 'user', text }])),
];

const callsOf = ({ calls }: ModelReply) =>
  calls.map(({ tool, input }) => ({ functionCall: { name: tool.name, args: JSON.parse(input) as unknown } }));

const chunk = ({ id, model }: ModelReply, parts: readonly object[], finish: object) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...finish }],
  usageMetadata,
  modelVersion: model,
  responseId: id,
});

// Gemini CLI cuts lines at these two as well, so the real service never sends them bare.
const escaped = (frame: string) =>
  frame.replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`);
