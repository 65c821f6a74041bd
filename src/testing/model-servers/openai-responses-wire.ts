import { finishOf, type Beat, type ReplyPiece, type ScriptedReply } from './reply-script.ts';
import { namedFrame, type WireProtocol } from './wire-protocol.ts';

/** The stream of the OpenAI Responses API. */
export const openaiResponsesWire: WireProtocol = {
  beats(reply, model) {
    const pieces = reply.pieces ?? [];
    const base = { id: 'resp_1', object: 'response', created_at: 1, model: reply.modelId ?? model, output: [] };
    const created = { ...base, status: 'in_progress', usage: null };
    let index = 0;
    return [
      { kind: 'start', item: namedFrame('response.created', { response: created }) },
      ...pieces.flatMap((piece) => (piece.kind === 'pause' ? [piece] : itemBeats(piece, index++))),
      { kind: 'end', item: lastFrame(reply, base) },
    ];
  },
  errorEvent: ({ type = 'server_error', message = 'Overloaded' }) =>
    namedFrame('error', { code: type, message, param: null, sequence_number: 1 }),
  errorBody: ({ type = 'server_error', message = 'Refused' }) =>
    JSON.stringify({ error: { message, type, code: type, param: null } }),
};

const outputText = (text: string) => ({ type: 'output_text', text, annotations: [] });

function lastFrame(reply: ScriptedReply, base: object): string {
  const { inputTokens = 0, outputTokens = 0 } = reply.usage ?? {};
  const usage = {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
  const finish = finishOf(reply);
  if (finish === 'stop' || finish === 'tool-calls') {
    return namedFrame('response.completed', {
      response: { ...base, status: 'completed', usage, incomplete_details: null },
    });
  }
  const reason = finish === 'length' ? 'max_output_tokens' : 'content_filter';
  return namedFrame('response.incomplete', {
    response: { ...base, status: 'incomplete', usage, incomplete_details: { reason } },
  });
}

function itemBeats(piece: Exclude<ReplyPiece, { kind: 'pause' }>, index: number): Beat<string>[] {
  const frame = (kind: 'between' | 'delta', type: string, rest: object): Beat<string> => ({
    kind,
    item: namedFrame(type, { output_index: index, ...rest }),
  });
  const added = (item: object) => frame('between', 'response.output_item.added', { item });
  const done = (item: object) => frame('between', 'response.output_item.done', { item });
  switch (piece.kind) {
    case 'text': {
      const at = { item_id: `msg_${index}`, content_index: 0 };
      const message = (content: object[]) => ({
        id: at.item_id,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content,
      });
      return [
        added(message([])),
        frame('between', 'response.content_part.added', { ...at, part: outputText('') }),
        ...piece.chunks.map((delta) => frame('delta', 'response.output_text.delta', { ...at, delta })),
        frame('between', 'response.output_text.done', { ...at, text: piece.chunks.join('') }),
        done(message([outputText(piece.chunks.join(''))])),
      ];
    }
    case 'thinking': {
      const at = { item_id: `rs_${index}`, summary_index: 0 };
      const part = { type: 'summary_text', text: piece.chunks.join('') };
      return [
        added({ id: at.item_id, type: 'reasoning', summary: [] }),
        frame('between', 'response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }),
        ...piece.chunks.map((delta) => frame('delta', 'response.reasoning_summary_text.delta', { ...at, delta })),
        frame('between', 'response.reasoning_summary_part.done', { ...at, part }),
        done({ id: at.item_id, type: 'reasoning', summary: [part] }),
      ];
    }
    case 'tool-call': {
      const at = { item_id: `fc_${index}` };
      const call = { id: at.item_id, type: 'function_call', call_id: piece.id, name: piece.name };
      const whole = piece.arguments.join('');
      return [
        added({ ...call, arguments: '', status: 'in_progress' }),
        ...piece.arguments.map((delta) => frame('delta', 'response.function_call_arguments.delta', { ...at, delta })),
        frame('between', 'response.function_call_arguments.done', { ...at, arguments: whole }),
        done({ ...call, arguments: whole, status: 'completed' }),
      ];
    }
  }
}
