// A folder of files, as a caller sent it: a skill or a plugin package. What is accepted can be placed under any folder of any
// usual file system without one file meeting another, or leaving it (U-121, UP-15).

import { isUtf8 } from 'node:buffer';
import { FileTooLargeError } from './file-too-large-error.ts';
import type { BundleFile } from '../stores/harness-record.ts';
import type { RequestError } from '../core/errors.ts';

export interface SentFile {
  readonly path: string;
  readonly content?: string | null | undefined;
  readonly content_b64?: string | null | undefined;
}

/** What is wrong with one file. */
export interface FileFault {
  readonly index: number;
  readonly field: 'path' | 'content' | 'content_b64';
  readonly path: string;
  /** One sentence. */
  readonly reason: string;
}

/** Each costs a look at all folders above it. */
const [maxFiles, maxDepth] = [10_000, 32];

export interface CheckFilesOptions {
  /** Of all files together. */
  readonly maxBytes: number;
  readonly refusal: (fault: FileFault) => RequestError;
}

/** The files as they will be read back, in the order sent. @throws RequestError  As `refusal` makes it, or too large. */
export function checkFiles(sent: readonly SentFile[], { maxBytes, refusal }: CheckFilesOptions): readonly BundleFile[] {
  const taken = new Map<string, 'file' | 'folder'>();
  let bytes = 0;
  const files = sent.map((file, index) => {
    const { path, content = null, content_b64: base64 = null } = file;
    const refuse = (field: FileFault['field'], reason: string) => refusal({ index, field, path, reason });
    if (index === maxFiles) throw refuse('path', `There are more than ${maxFiles} files.`);
    const wrong = pathFault(path) ?? (take(taken, path) ? null : 'Another file has this place.');
    if (wrong !== null) throw refuse('path', wrong);
    if (content !== null && base64 !== null) throw refuse('content', 'Only one of content and content_b64 may be set.');
    if (content !== null) {
      bytes += Buffer.byteLength(content);
      return { path, content };
    }
    if (base64 === null) throw refuse('content', 'One of content and content_b64 is needed.');
    const decoded = Buffer.from(base64, 'base64');
    if (decoded.toString('base64') !== base64) throw refuse('content_b64', 'It is not padded base64.');
    bytes += decoded.byteLength;
    return { path, content_b64: base64 };
  });
  if (bytes > maxBytes) throw new FileTooLargeError(maxBytes);
  return files;
}

/** Why a path cannot be that of a file inside a folder, in one sentence; null: it can. */
export function pathFault(path: string): string | null {
  const segments = path.split('/');
  if (/[\p{Cc}\\]/u.test(path)) return 'A path has no backslash and no control character.';
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return 'A path is relative.';
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    return 'A path has no empty part, and no . or .. in it.';
  if (segments.length > maxDepth) return `A path has at most ${maxDepth} parts.`;
  if (path.length > 1024 || segments.some((segment) => Buffer.byteLength(segment) > 255))
    return 'The path is too long.';
  return null;
}

/** False where a file system that ignores case has something else there. */
function take(taken: Map<string, 'file' | 'folder'>, path: string): boolean {
  const segments = path.normalize('NFC').toLowerCase().split('/');
  for (let depth = 1; depth < segments.length; depth++) {
    const folder = segments.slice(0, depth).join('/');
    if (taken.get(folder) === 'file') return false;
    taken.set(folder, 'folder');
  }
  const whole = segments.join('/');
  if (taken.has(whole)) return false;
  taken.set(whole, 'file');
  return true;
}

/** The text of the file at that path; undefined: there is none; null: what is there is no text. */
export function textAt(files: readonly BundleFile[], path: string): string | null | undefined {
  const file = files.find((each) => each.path === path);
  return file === undefined ? undefined : textOf(file);
}

export function textOf(file: BundleFile): string | null {
  if ('content' in file) return withoutMark(file.content);
  const bytes = Buffer.from(file.content_b64, 'base64');
  return isUtf8(bytes) ? withoutMark(bytes.toString('utf8')) : null;
}

function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
