// The input's items, as the client sent them (U-211): in a log without the bytes of large files, which stand where the file is
// kept, and whole again when they are read.

import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { head } from '../core/text.ts';
import type { Services } from './services.ts';

/** Data that is no longer stays where it is. */
const mostUnits = 8 * 1024;
const kept = 'reins_content';

/** @param refs  What inline files are kept as, by the place of their part. */
export function keptItems(items: readonly JsonValue[], refs: ReadonlyMap<string, string>): readonly JsonValue[] {
  return mapParts(items, (part, path) => {
    // Only what is written here is read back.
    const { [kept]: _foreign, ...sent } = part;
    const [key, ref] = [dataKey(sent), refs.get(path)];
    const data = key === null ? undefined : sent[key];
    if (key === null || ref === undefined || typeof data !== 'string' || data.length <= mostUnits) return sent;
    const { [key]: _data, ...rest } = sent;
    if (ref.startsWith('file:')) return { ...rest, file_id: ref.slice('file:'.length) };
    return { ...rest, [kept]: { key, ref, prefix: head(data, data.indexOf(',') + 1) } };
  });
}

/**
 * The items whole again; what its run does not have any more is left out.
 * @param room  Bytes of files that are put back at most, and taken off here; a file that does not fit is left out. Absent: all.
 */
export async function wholeItems(
  { store }: Pick<Services, 'store'>,
  items: readonly JsonValue[],
  room: { left: number } = { left: Infinity },
): Promise<readonly JsonValue[]> {
  const refs = new Set<string>();
  mapParts(items, (part) => {
    const content = contentOf(part);
    if (content !== null) refs.add(content.ref);
    return part;
  });
  const contents = new Map<string, string>();
  for (const ref of refs) {
    const bytes = await store.content(ref);
    if (bytes === null || bytes.length > room.left) continue;
    room.left -= bytes.length;
    contents.set(ref, Buffer.from(bytes).toString('base64'));
  }
  return mapParts(items, (part) => {
    const content = contentOf(part);
    if (content === null) return part;
    const { [kept]: _hidden, ...rest } = part;
    const base64 = contents.get(content.ref);
    return base64 === undefined ? rest : { ...rest, [content.key]: content.prefix + base64 };
  });
}

function contentOf(part: JsonObject): { readonly key: string; readonly ref: string; readonly prefix: string } | null {
  if (!isJsonObject(part[kept])) return null;
  const { key, ref, prefix } = part[kept];
  if (typeof key !== 'string' || typeof ref !== 'string' || typeof prefix !== 'string') return null;
  return { key, ref, prefix };
}

function dataKey(part: JsonObject): 'file_data' | 'image_url' | null {
  if (part['type'] === 'input_image' && typeof part['image_url'] === 'string') return 'image_url';
  return typeof part['file_data'] === 'string' ? 'file_data' : null;
}

function mapParts(
  items: readonly JsonValue[],
  change: (part: JsonObject, path: string) => JsonObject,
): readonly JsonValue[] {
  return items.map((item, index) => {
    if (!isJsonObject(item) || !Array.isArray(item['content'])) return item;
    const parts: readonly JsonValue[] = item['content'];
    const content = parts.map((part, at) =>
      isJsonObject(part) ? change(part, `input[${index}].content[${at}]`) : part,
    );
    return { ...item, content };
  });
}
