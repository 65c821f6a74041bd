import { z } from 'zod';
import { schemaProperties, textOrParts, type Turn } from './conversation.ts';
import { replyUsage, type HarnessWire, type ModelReply } from './harness-wire.ts';
import { namedFrame } from '../model-servers/wire-protocol.ts';
import type { Beat } from '../model-servers/reply-script.ts';

const stopReasons = { stop: 'end_turn', 'tool-calls': 'tool_use', length: 'max_tokens' };
const errorTypes = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [404, 'not_found_error'],
  [429, 'rate_limit_error'],
  [529, 'overloaded_error'],
]);

const block = z.object({ type: z.string(), text: z.string().catch(''), content: textOrParts });
const request = z.object({
  system: textOrParts,
  messages: z.array(
    z.object({
      role: z.string(),
      content: z.union([z.string().transform((text) => [{ type: 'text', text, content: '' }]), z.array(block)]),
    }),
  ),
  tools: z.array(z.object({ name: z.string(), input_schema: schemaProperties })).default([]),
});

/** Anthropic Messages (9.2). */
export const messagesWire: HarnessWire = {
  read(body) {
    const { system, messages, tools } = request.parse(body);
    return {
      system,
      // Claude Code gives what a person says in the middle of a turn as a message of role `system`.
      turns: messages.filter(({ role }) => role !== 'assistant').flatMap(({ content }) => turnsOf(content)),
      tools: tools.map((tool) => ({ kind: 'function', name: tool.name, properties: tool.input_schema })),
    };
  },
  beats(reply) {
    const stop = { stop_reason: stopReasons[reply.finish], stop_sequence: null };
    const message = { ...messageOf(reply), content: [], stop_reason: null, stop_sequence: null };
    const start = { ...message, usage: { input_tokens: replyUsage.input, output_tokens: 1 } };
    return [
      { kind: 'start', item: namedFrame('message_start', { message: start }) },
      ...blocksOf(reply).flatMap(({ empty, deltas }, index) => blockBeats(index, empty, deltas)),
      { kind: 'end', item: namedFrame('message_delta', { delta: stop, usage: { output_tokens: replyUsage.output } }) },
      { kind: 'end', item: namedFrame('message_stop') },
    ];
  },
  whole: (reply) => ({
    ...messageOf(reply),
    content: blocksOf(reply).map(({ full }) => full),
    stop_reason: stopReasons[reply.finish],
    stop_sequence: null,
    usage: { input_tokens: replyUsage.input, output_tokens: replyUsage.output },
  }),
  errorBody: (status, message) => ({
    type: 'error',
    error: { type: errorTypes.get(status) ?? 'api_error', message },
    request_id: 'req_test',
  }),
};

/** Results first: what stands beside them was said after the tool ran. */
function turnsOf(blocks: readonly z.infer<typeof block>[]): Turn[] {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  const texts = blocks.filter(({ type }) => type === 'text');
  return [
    ...results.map(({ content }): Turn => ({ from: 'tool', text: content })),
    ...texts.map(({ text }): Turn => ({ from: 'user', text })),
  ];
}

const messageOf = ({ id, model }: ModelReply) => ({ id: `msg_${id}`, type: 'message', role: 'assistant', model });

interface Block {
  readonly empty: object;
  readonly deltas: readonly object[];
  readonly full: object;
}

function blocksOf({ thinking, text, calls }: ModelReply): readonly Block[] {
  const signature = 'c2ln';
  const thought: Block = {
    empty: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...thinking.map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature },
    ],
    full: { type: 'thinking', thinking: thinking.join(''), signature },
  };
  const said: Block = {
    empty: { type: 'text', text: '' },
    deltas: text.map((piece) => ({ type: 'text_delta', text: piece })),
    full: { type: 'text', text: text.join('') },
  };
  const called = calls.map(({ id, tool, input }): Block => {
    const start = { type: 'tool_use', id: `toolu_${id}`, name: tool.name };
    const half = input.length >> 1;
    const pieces = [input.slice(0, half), input.slice(half)];
    return {
      empty: { ...start, input: {} },
      deltas: pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      full: { ...start, input: JSON.parse(input) as unknown },
    };
  });
  return [...(thinking.length > 0 ? [thought] : []), ...(text.length > 0 ? [said] : []), ...called];
}

const blockBeats = (index: number, empty: object, deltas: readonly object[]): Beat<string>[] => [
  { kind: 'between', item: namedFrame('content_block_start', { index, content_block: empty }) },
  ...deltas.map((delta): Beat<string> => ({
    kind: 'delta',
    item: namedFrame('content_block_delta', { index, delta }),
  })),
  { kind: 'between', item: namedFrame('content_block_stop', { index }) },
];
