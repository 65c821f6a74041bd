import { TextDecoder } from 'node:util';
import type { Response } from 'undici';

export interface BodyBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** There was more than the limit. */
  readonly cut: boolean;
}

/** The unpacked body, as far as the limit goes. Nothing beyond it is read or unpacked, so a small bomb stays small. */
export async function readBody(response: Response, maxBytes: number): Promise<BodyBytes> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    length += chunk.byteLength;
    if (length > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), cut: length > maxBytes };
}

const encodingMark =
  /<meta\s[^>]{0,200}charset\s*=\s*["']?([\w:.-]+)|^\s*<\?xml\s[^>]{0,200}encoding\s*=\s*["']([\w:.-]+)/i;

/** The text in its declared encoding: that of the header, else of the document's beginning, else UTF-8. */
export function decodeBody({ bytes, cut }: BodyBytes, contentType: string): string {
  const beginning = new TextDecoder('latin1').decode(bytes.subarray(0, 1024));
  const [, inMeta, inXml] = encodingMark.exec(beginning) ?? [];
  const label = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1] ?? inMeta ?? inXml ?? 'utf-8';
  // As a stream, a character that the limit has cut is left out instead of becoming U+FFFD.
  return decoderOf(label).decode(bytes, { stream: cut });
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}
