import { isJsonObject, type JsonValue } from '../core/json.ts';
import type { UiMessage, UiPart } from '../protocol/ui/message.ts';
import type { UserPart } from '../core/run-event.ts';

export function userMessageOf(id: string, parts: readonly UiPart[]): UiMessage {
  return { id, role: 'user', parts };
}

/** What a user said, as the client said it. @param items  What was sent, where that is known: files as data. */
export function userPartsOf(content: readonly UserPart[], items: readonly JsonValue[] = []): readonly UiPart[] {
  const sent = items.flatMap((item) => (isJsonObject(item) && Array.isArray(item['content']) ? item['content'] : []));
  const parts = sent.flatMap((part) => (isJsonObject(part) ? filePartOf(part) : []));
  const texts = content.flatMap((part): UiPart[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    return parts.length > 0 ? [] : [{ type: 'text', text: `[${part.filename ?? part.mediaType}]` }];
  });
  return [...parts, ...texts];
}

function filePartOf({ file_data, image_url, filename }: { readonly [key: string]: JsonValue }): readonly UiPart[] {
  const url = file_data ?? image_url;
  if (typeof url !== 'string' || !url.startsWith('data:')) return [];
  const mediaType = /^data:([^;,]*)/.exec(url)?.[1] || 'application/octet-stream';
  return [{ type: 'file', mediaType, url, ...(typeof filename === 'string' ? { filename } : {}) }];
}
