// The bytes of one file as an answer (UD-55). What agents make is hostile content: it is never shown by a browser as a page of
// this origin, whatever it is (U-423).

import { create as contentDisposition } from 'content-disposition';
import mime from 'mime-types';
import { parse as parseRange } from 'range-parser';
import { oneHeader } from './door.ts';
import { RequestError } from '../core/errors.ts';
import type { OpenBlob } from '../files/blob-store.ts';
import type { OpenCall } from './route.ts';

export interface SentFile {
  readonly content: OpenBlob;
  readonly filename: string;
  readonly bytes: number;
  /** Hash of the content, in hex. */
  readonly sha256: string;
}

interface Part {
  readonly start: number;
  readonly end: number;
}

/** 200, 206 or 304; the content is closed when the answer is over. @throws RequestError  416. */
export async function sendFile({ request, reply }: OpenCall, file: SentFile): Promise<unknown> {
  const { content, filename, bytes, sha256 } = file;
  const etag = `"${sha256}"`;
  try {
    const part = partOf(oneHeader(request.headers['range']), { bytes, isSame: isSameVersion(request.headers, etag) });
    const isKnown = namesVersion(oneHeader(request.headers['if-none-match']), etag);
    if (part === 'unsatisfiable' && !isKnown) throw unsatisfiable(bytes);
    reply.headers({
      ...hostileContent(filename),
      'Content-Type': mime.contentType(filename.slice(filename.lastIndexOf('/') + 1)) || 'application/octet-stream',
      'Cache-Control': 'private, no-cache',
      'Accept-Ranges': 'bytes',
      ETag: etag,
    });
    if (isKnown || part === 'unsatisfiable') {
      await content[Symbol.asyncDispose]();
      return await reply.code(304).send();
    }
    const { start, end } = part ?? { start: 0, end: bytes - 1 };
    if (part !== null) reply.code(206).header('Content-Range', `bytes ${start}-${end}/${bytes}`);
    reply.header('Content-Length', String(end - start + 1));
    if (request.method === 'HEAD' || bytes === 0) {
      await content[Symbol.asyncDispose]();
      return await reply.send('');
    }
    return await reply.send(content.stream(part ?? undefined));
  } catch (cause) {
    await content[Symbol.asyncDispose]().catch(() => {});
    throw cause;
  }
}

/** What every answer carries whose content an agent made. */
export function hostileContent(filename: string): Readonly<Record<string, string>> {
  return {
    'Content-Disposition': contentDisposition(filename.slice(filename.lastIndexOf('/') + 1), { type: 'attachment' }),
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "sandbox; default-src 'none'",
  };
}

/** Whether the copy that the client has is this one. @param header  `If-None-Match`. */
export function namesVersion(header: string | undefined, etag: string): boolean {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.includes(etag) || tags.includes('*');
}

/** A range of another version than the one there is now is no range (UD-55). */
function isSameVersion(headers: OpenCall['request']['headers'], etag: string): boolean {
  const version = oneHeader(headers['if-range']);
  return version === undefined || version === etag;
}

/** Null: the whole file. Several ranges at once are answered by the whole. */
function partOf(
  header: string | undefined,
  { bytes, isSame }: { readonly bytes: number; readonly isSame: boolean },
): Part | null | 'unsatisfiable' {
  if (header === undefined || !isSame || !/^bytes=/i.test(header)) return null;
  const { code, ranges } = parseRange(bytes, header);
  if (ranges.length === 0) return (code & invalidRange) === 0 ? 'unsatisfiable' : null;
  return ranges.length === 1 ? (ranges[0] ?? null) : null;
}

/** The parser's mark for a header that is none. */
const invalidRange = 1;

function unsatisfiable(bytes: number): RequestError {
  return new RequestError({
    status: 416,
    errorType: 'invalid_request_error',
    code: 'invalid_input',
    message: `The file has ${bytes} bytes; the range lies outside.`,
    param: 'Range',
    headers: { 'Content-Range': `bytes */${bytes}` },
  });
}
