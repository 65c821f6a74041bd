import { finishOf, type Beat, type ReplyPiece } from './reply-script.ts';
import { dataFrame, type WireProtocol } from './wire-protocol.ts';

const finishReasons = { stop: 'STOP', 'tool-calls': 'STOP', length: 'MAX_TOKENS', 'content-filter': 'SAFETY' };

/** The Gemini `streamGenerateContent` stream. It sends a call whole (E-112), so its arguments are one delta. */
export const googleWire: WireProtocol = {
  beats(reply, model) {
    const base = { modelVersion: reply.modelId ?? model, responseId: 'resp-1' };
    const { inputTokens = 0, outputTokens = 0 } = reply.usage ?? {};
    const usageMetadata = {
      promptTokenCount: inputTokens,
      candidatesTokenCount: outputTokens,
      totalTokenCount: inputTokens + outputTokens,
    };
    const usage = reply.usage === undefined ? {} : { usageMetadata };
    const frame = (part: object): Beat<string> => ({
      kind: 'delta',
      item: dataFrame({ ...base, candidates: [{ index: 0, content: { role: 'model', parts: [part] } }] }),
    });
    const last = [{ index: 0, content: { role: 'model', parts: [] }, finishReason: finishReasons[finishOf(reply)] }];
    return [
      ...(reply.pieces ?? []).flatMap((piece) => (piece.kind === 'pause' ? [piece] : parts(piece).map(frame))),
      { kind: 'end', item: dataFrame({ ...base, ...usage, candidates: last }) },
    ];
  },
  errorEvent: ({ type = 'UNAVAILABLE', message = 'Overloaded' }) =>
    dataFrame({ error: { code: 503, message, status: type } }),
  errorBody: ({ status, type = 'INTERNAL', message = 'Refused' }) =>
    JSON.stringify({ error: { code: status, message, status: type } }),
};

function parts(piece: Exclude<ReplyPiece, { kind: 'pause' }>): object[] {
  switch (piece.kind) {
    case 'text':
      return piece.chunks.map((text) => ({ text }));
    case 'thinking':
      return piece.chunks.map((text) => ({ text, thought: true }));
    case 'tool-call': {
      const args: unknown = JSON.parse(piece.arguments.join('') || '{}');
      return [{ functionCall: { ...(piece.id === null ? {} : { id: piece.id }), name: piece.name, args } }];
    }
  }
}
