import { HarnessV1UnsupportedError } from './unsupported-error.ts';
import { isRecord } from '../../protocol/parts/part-json.ts';
import type { InputMessage, InputPart } from '../run-input.ts';
import type { PromptOptions } from './harness-v1.ts';

/** The user's message as a run takes it. @throws HarnessV1UnsupportedError  A part that is neither text nor bytes. */
export function toRunInput(prompt: PromptOptions['prompt']): InputMessage {
  if (typeof prompt === 'string') return { content: prompt };
  const { content } = prompt;
  if (typeof content === 'string') return { content };
  return { content: Array.isArray(content) ? content.map(toInputPart) : [] };
}

function toInputPart(part: unknown): InputPart {
  if (!isRecord(part)) throw new HarnessV1UnsupportedError('A message has a part that is none.');
  const { type, text, mediaType, filename } = part;
  if (type === 'text' && typeof text === 'string') return { type, text };
  const data = type === 'image' ? part['image'] : part['data'];
  if (isRecord(data) && data['type'] === 'text' && typeof data['text'] === 'string')
    return { type: 'text', text: data['text'] };
  const bytes = bytesOf(isRecord(data) && data['type'] === 'data' ? data['data'] : data);
  if ((type !== 'image' && type !== 'file') || bytes === null)
    throw new HarnessV1UnsupportedError(
      'Only text, and images and files with their bytes, can be given to this agent.',
    );
  return {
    type,
    mediaType: typeof mediaType === 'string' ? mediaType : type === 'image' ? 'image/png' : 'application/octet-stream',
    data: bytes,
    ...(typeof filename === 'string' ? { filename } : {}),
  };
}

/** Null: a reference to something elsewhere. */
function bytesOf(data: unknown): Uint8Array | null {
  if (data instanceof Uint8Array) return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (typeof data !== 'string') return null;
  const base64 = /^data:[^,]*;base64,(.*)$/s.exec(data)?.[1] ?? data;
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : null;
}
