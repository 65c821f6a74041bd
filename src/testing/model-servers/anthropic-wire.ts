import { finishOf, type Beat, type ReplyPiece } from './reply-script.ts';
import { namedFrame, type WireProtocol } from './wire-protocol.ts';

const stopReasons = { stop: 'end_turn', 'tool-calls': 'tool_use', length: 'max_tokens', 'content-filter': 'refusal' };

/** The Anthropic Messages stream. */
export const anthropicWire: WireProtocol = {
  beats(reply, model) {
    const { inputTokens = 0, outputTokens = 0 } = reply.usage ?? {};
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: reply.modelId ?? model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: inputTokens, output_tokens: 1 },
    };
    const stop = { stop_reason: stopReasons[finishOf(reply)], stop_sequence: null };
    let index = 0;
    return [
      { kind: 'start', item: namedFrame('message_start', { message }) },
      { kind: 'start', item: namedFrame('ping') },
      ...(reply.pieces ?? []).flatMap((piece) => (piece.kind === 'pause' ? [piece] : blockBeats(piece, index++))),
      { kind: 'end', item: namedFrame('message_delta', { delta: stop, usage: { output_tokens: outputTokens } }) },
      { kind: 'end', item: namedFrame('message_stop') },
    ];
  },
  errorEvent: ({ type = 'overloaded_error', message = 'Overloaded' }) =>
    namedFrame('error', { error: { type, message } }),
  errorBody: ({ type = 'api_error', message = 'Refused' }) =>
    JSON.stringify({ type: 'error', error: { type, message } }),
};

function blockBeats(piece: Exclude<ReplyPiece, { kind: 'pause' }>, index: number): Beat<string>[] {
  const frame = (kind: 'between' | 'delta', type: string, rest: object): Beat<string> => ({
    kind,
    item: namedFrame(type, { index, ...rest }),
  });
  const start = (block: object) => frame('between', 'content_block_start', { content_block: block });
  const delta = (change: object) => frame('delta', 'content_block_delta', { delta: change });
  const stop = frame('between', 'content_block_stop', {});
  switch (piece.kind) {
    case 'text':
      return [
        start({ type: 'text', text: '' }),
        ...piece.chunks.map((text) => delta({ type: 'text_delta', text })),
        stop,
      ];
    case 'thinking':
      return [
        start({ type: 'thinking', thinking: '', signature: '' }),
        ...piece.chunks.map((thinking) => delta({ type: 'thinking_delta', thinking })),
        frame('between', 'content_block_delta', { delta: { type: 'signature_delta', signature: 'c2lnbmVk' } }),
        stop,
      ];
    case 'tool-call':
      return [
        start({ type: 'tool_use', id: piece.id, name: piece.name, input: {} }),
        ...piece.arguments.map((json) => delta({ type: 'input_json_delta', partial_json: json })),
        stop,
      ];
  }
}
