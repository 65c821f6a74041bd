import { z } from 'zod';
import { namedFrame } from '../model-servers/wire-protocol.ts';
import { openaiErrorBody } from './chat-wire.ts';
import { schemaProperties, textOrParts, type OfferedTool, type Turn } from './conversation.ts';
import { replyUsage, type HarnessWire, type ModelCall, type ModelReply } from './harness-wire.ts';
import type { Beat } from '../model-servers/reply-script.ts';

const usage = {
  input_tokens: replyUsage.input,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: replyUsage.output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: replyUsage.total,
};

const inputItem = z.object({
  type: z.string().default('message'),
  role: z.string().optional(),
  content: textOrParts,
  output: textOrParts,
});
const plainTool = z.object({ type: z.string(), name: z.string().optional(), parameters: schemaProperties });
const request = z.object({
  instructions: z.string().nullish(),
  input: z.union([
    z.string().transform((content) => [{ type: 'message', role: 'user', content, output: '' }]),
    z.array(inputItem),
  ]),
  tools: z.array(plainTool.extend({ tools: z.array(plainTool).default([]) })).default([]),
});

/** OpenAI Responses (9.3). */
export const responsesWire: HarnessWire = {
  read(body) {
    const { instructions, input, tools } = request.parse(body);
    return {
      system: instructions ?? '',
      turns: input.flatMap(({ type, role, content, output }): Turn[] => {
        if (type.endsWith('_call_output')) return [{ from: 'tool', text: output }];
        return role === 'user' ? [{ from: 'user', text: content }] : [];
      }),
      tools: tools.flatMap((tool) =>
        tool.type === 'namespace'
          ? tool.tools.map((inner) => ({
              ...offered(inner),
              ...(tool.name === undefined ? {} : { namespace: tool.name }),
            }))
          : [offered(tool)],
      ),
    };
  },
  beats(reply) {
    const events: { kind: 'start' | 'delta' | 'between' | 'end'; type: string; rest: object }[] = [
      {
        kind: 'start',
        type: 'response.created',
        rest: { response: { ...base(reply), status: 'in_progress', output: [] } },
      },
      ...itemsOf(reply).flatMap(({ first, middle, last }, output_index) => [
        { kind: 'between' as const, type: 'response.output_item.added', rest: { output_index, item: first } },
        ...middle.map(({ kind, type, rest }) => ({ kind, type, rest: { item_id: last.id, output_index, ...rest } })),
        { kind: 'between' as const, type: 'response.output_item.done', rest: { output_index, item: last } },
      ]),
      {
        kind: 'end',
        type: reply.finish === 'length' ? 'response.incomplete' : 'response.completed',
        rest: { response: this.whole(reply) },
      },
    ];
    return events.map(({ kind, type, rest }, sequence_number): Beat<string> => ({
      kind,
      item: namedFrame(type, { ...rest, sequence_number }),
    }));
  },
  whole: (reply) => ({
    ...base(reply),
    ...(reply.finish === 'length'
      ? { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
      : { status: 'completed', incomplete_details: null }),
    output: itemsOf(reply).map(({ last }) => last),
    usage,
  }),
  errorBody: openaiErrorBody,
};

const offered = ({ type, name, parameters }: z.infer<typeof plainTool>): OfferedTool => ({
  kind: type === 'custom' ? 'custom' : 'function',
  name: name ?? type,
  properties: parameters,
});

const base = ({ id, model }: ModelReply) => ({ id: `resp_${id}`, object: 'response', created_at: 1, model });

/** One output item: as it is announced, what comes of it in pieces, and whole. */
interface OutputItem {
  readonly first: object;
  readonly middle: readonly { kind: 'delta' | 'between'; type: string; rest: object }[];
  readonly last: { readonly id: string; readonly [field: string]: unknown };
}

function itemsOf(reply: ModelReply): readonly OutputItem[] {
  return [
    ...(reply.thinking.length > 0 ? [thoughtItem(reply)] : []),
    ...(reply.text.length > 0 ? [messageItem(reply)] : []),
    ...reply.calls.map(callItem),
  ];
}

function thoughtItem({ id, thinking }: ModelReply): OutputItem {
  const item = { id: `rs_${id}`, type: 'reasoning' };
  const at = { summary_index: 0 };
  const text = thinking.join('');
  const part = { type: 'summary_text', text };
  return {
    first: { ...item, summary: [] },
    middle: [
      { kind: 'between', type: 'response.reasoning_summary_part.added', rest: { ...at, part: { ...part, text: '' } } },
      ...thinking.map((delta) => ({
        kind: 'delta' as const,
        type: 'response.reasoning_summary_text.delta',
        rest: { ...at, delta },
      })),
      { kind: 'between', type: 'response.reasoning_summary_text.done', rest: { ...at, text } },
      { kind: 'between', type: 'response.reasoning_summary_part.done', rest: { ...at, part } },
    ],
    last: { ...item, summary: [part] },
  };
}

function messageItem({ id, text }: ModelReply): OutputItem {
  const item = { id: `msg_${id}`, type: 'message', role: 'assistant' };
  const at = { content_index: 0 };
  const part = { type: 'output_text', text: text.join(''), annotations: [] };
  return {
    first: { ...item, status: 'in_progress', content: [] },
    middle: [
      { kind: 'between', type: 'response.content_part.added', rest: { ...at, part: { ...part, text: '' } } },
      ...text.map((delta) => ({ kind: 'delta' as const, type: 'response.output_text.delta', rest: { ...at, delta } })),
      { kind: 'between', type: 'response.output_text.done', rest: { ...at, text: part.text } },
      { kind: 'between', type: 'response.content_part.done', rest: { ...at, part } },
    ],
    last: { ...item, status: 'completed', content: [part] },
  };
}

function callItem({ id, tool, input }: ModelCall): OutputItem {
  const [prefix, type, key, event] =
    tool.kind === 'custom'
      ? (['ctc', 'custom_tool_call', 'input', 'response.custom_tool_call_input'] as const)
      : (['fc', 'function_call', 'arguments', 'response.function_call_arguments'] as const);
  const namespace = tool.namespace === undefined ? {} : { namespace: tool.namespace };
  const item = { id: `${prefix}_${id}`, type, call_id: `call_${id}`, name: tool.name, ...namespace };
  return {
    first: { ...item, [key]: '', status: 'in_progress' },
    middle: [
      { kind: 'delta', type: `${event}.delta`, rest: { delta: input } },
      { kind: 'between', type: `${event}.done`, rest: { [key]: input } },
    ],
    last: { ...item, [key]: input, status: 'completed' },
  };
}
