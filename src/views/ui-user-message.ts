import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts';
import type { UiMessage, UiPart } from '../protocol/ui/message.ts';
import type { UserPart } from '../core/run-event.ts';

export function userMessageOf(id: string, parts: readonly UiPart[]): UiMessage {
  return { id, role: 'user', parts };
}

/** What a user said, files first: as data where `items`, what was sent, still has it, else by their name. */
export function userPartsOf(content: readonly UserPart[], items: readonly JsonValue[] = []): readonly UiPart[] {
  const sent = items
    .flatMap((item) => (isJsonObject(item) && Array.isArray(item['content']) ? item['content'] : []))
    .filter((part) => isJsonObject(part))
    .filter(({ type }) => type === 'input_file' || type === 'input_image');
  const files = content
    .filter((part) => part.type !== 'text')
    .map(({ filename, mediaType }, index): UiPart => {
      const name = { type: 'text', text: `[${filename ?? mediaType}]` } as const;
      return fileOf(sent[index] ?? {}) ?? name;
    });
  return [
    ...files,
    ...content.flatMap((part): UiPart[] => (part.type === 'text' ? [{ type: 'text', text: part.text }] : [])),
  ];
}

function fileOf({ file_data, image_url, filename }: JsonObject): UiPart | null {
  const url = file_data ?? image_url;
  if (typeof url !== 'string' || !url.startsWith('data:')) return null;
  const mediaType = /^data:([^;,]*)/.exec(url)?.[1] || 'application/octet-stream';
  return { type: 'file', mediaType, url, ...(typeof filename === 'string' ? { filename } : {}) };
}
