import { finishOf, type Beat, type ReplyPiece } from './reply-script.ts';
import { dataFrame, type WireProtocol } from './wire-protocol.ts';

const finishReasons = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
};

/** The chat completions stream, as OpenAI, OpenRouter, vLLM, Ollama and many others write it. */
export const openaiChatWire: WireProtocol = {
  beats(reply, model) {
    const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: reply.modelId ?? model };
    const frame = (kind: 'start' | 'delta' | 'end', delta: object, finish: string | null = null): Beat<string> => ({
      kind,
      item: dataFrame({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] }),
    });
    const { inputTokens = 0, outputTokens = 0 } = reply.usage ?? {};
    const usage = {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    };
    let calls = 0;
    return [
      frame('start', { role: 'assistant', content: '' }),
      ...(reply.pieces ?? []).flatMap((piece): Beat<string>[] => {
        if (piece.kind === 'pause') return [piece];
        return deltas(piece, piece.kind === 'tool-call' ? calls++ : 0).map((delta) => frame('delta', delta));
      }),
      frame('end', {}, finishReasons[finishOf(reply)]),
      ...(reply.usage === undefined
        ? []
        : [{ kind: 'end', item: dataFrame({ ...base, choices: [], usage }) } as const]),
      { kind: 'end', item: 'data: [DONE]\n\n' },
    ];
  },
  errorEvent: ({ type = 'server_error', message = 'Overloaded' }) =>
    dataFrame({ error: { message, type, code: type } }),
  errorBody: ({ type = 'server_error', message = 'Refused' }) =>
    JSON.stringify({ error: { message, type, code: type } }),
};

function deltas(piece: Exclude<ReplyPiece, { kind: 'pause' }>, position: number): object[] {
  switch (piece.kind) {
    case 'text':
      return piece.chunks.map((content) => ({ content }));
    case 'thinking':
      return piece.chunks.map((reasoning) => ({ reasoning }));
    case 'tool-call': {
      // Id and name stand on the first fragment only (B023).
      const index = piece.index ?? position;
      const id = piece.id === null ? {} : { id: piece.id };
      const [first = '', ...rest] = piece.arguments;
      return [
        { tool_calls: [{ index, ...id, type: 'function', function: { name: piece.name, arguments: first } }] },
        ...rest.map((json) => ({ tool_calls: [{ index, function: { arguments: json } }] })),
      ];
    }
  }
}
