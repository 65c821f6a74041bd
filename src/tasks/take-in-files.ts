// Files that clients give, made what a task holds (UD-44, E-105). Everything that can be refused is refused before a byte is
// stored; what is stored for a task that is refused after all goes as unclaimed content does.
//
// F1. A small text is words of the message, up to `mostShownText` in all. An image that models take is shown to them. Of all
//     else the model is told where it lies.
// F2. Each lies in the working directory. Where, is decided here and stands in the log (`place-input-files.ts` puts it there).
// F3. The same files given again to the same directory make the same parts: a repeated message is known by its content.
// F4. What a log has of a file is bounded: bytes that are not words of the message stand elsewhere, by reference.

import mime from 'mime-types';
import { createHash } from 'node:crypto';
import { fileIds, type FileId, type RunId, type SessionId } from '../core/ids.ts';
import { InvalidInputError, NotFoundError } from '../core/errors.ts';
import { isInputFile, areTakenIn, type InputFile, type InputMessage, type InputPart } from '../core/input-file.ts';
import { openFileNames, type FileNames } from '../files/place-file.ts';
import { refuseUpload } from './principal-limits.ts';
import { openStored, readStored } from './stored-file.ts';
import { uploadFile } from './upload-file.ts';
import { viewableImage } from '../core/viewable-image.ts';
import type { FileRecord } from '../stores/file-store.ts';
import type { Services } from './services.ts';
import type { UserMessage, UserPart } from '../core/run-event.ts';

export interface FilesOwner {
  readonly principal: string;
  readonly runId: RunId;
  readonly sessionId: SessionId;
}

export interface TakenIn {
  readonly messages: readonly UserMessage[];
  /** What files that came inline are kept as, by the place of their part in the request. */
  readonly refs: ReadonlyMap<string, string>;
}

/** A file whose bytes are known to be there. */
interface FoundFile {
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Null: it came inline. */
  readonly record: FileRecord | null;
  readonly read: () => Promise<Uint8Array>;
}

const mostFiles = 100;
const mostTextBytes = 64 * 1024;
const mostShownText = 256 * 1024;
/** Larger than any image that is shown. */
const mostReadBytes = 4 * 1024 * 1024;

export async function takeInFiles(
  services: Services,
  owner: Pick<FilesOwner, 'runId' | 'sessionId'> & {
    /** Absent: those that are free in the working directory as it is here. */
    readonly names?: FileNames;
  },
  { messages, files }: FoundFiles,
): Promise<TakenIn> {
  const refs = new Map<string, string>();
  if (areTakenIn(messages)) return { messages, refs };
  const names = owner.names ?? (await openFileNames(await services.workspaces.ensure(owner.sessionId)));
  const room = { textBytes: mostShownText };
  const taken: UserMessage[] = [];
  for (const { content, ...rest } of messages) {
    const parts: UserPart[] = [];
    for (const part of content) {
      if (!isInputFile(part)) {
        parts.push(part);
        continue;
      }
      const file = files.get(part);
      if (file === undefined) continue;
      const path = await names.take(file.filename, file);
      const made = await toPart(services, owner, { file, path, room });
      if (made.type === 'media' && file.record === null) refs.set(part.param, made.ref);
      parts.push(made);
    }
    taken.push({ ...rest, content: parts });
  }
  return { messages: taken, refs };
}

/** Uploads and artifacts that are given by name, and must be there until the task has ended. */
export function namedUploads(messages: readonly InputMessage[]): readonly FileId[] {
  const names = messages.flatMap(({ content }) =>
    content.flatMap((part) => {
      if (part.type === 'named-file') return [part.fileId];
      return part.type === 'media' && part.ref.startsWith(refOf('')) ? [part.ref.slice(refOf('').length)] : [];
    }),
  );
  return names.flatMap((name) => fileIds.parse(name) ?? []);
}

/** Files given inline become uploads, so that what waits to be started holds names alone. */
export async function uploadGiven(
  services: Services,
  principal: string,
  messages: readonly InputMessage[],
): Promise<{ readonly messages: readonly InputMessage[]; readonly refs: ReadonlyMap<string, string> }> {
  const refs = new Map<string, string>();
  const { files, givenBytes } = await findFiles(services, principal, messages);
  await refuseUpload(services, principal, givenBytes);
  const uploaded = async (part: InputPart): Promise<InputPart> => {
    const file = isInputFile(part) ? files.get(part) : undefined;
    if (file === undefined || !isInputFile(part) || part.type === 'named-file') return part;
    const { fileId } = await upload(services, principal, file);
    refs.set(part.param, refOf(fileId));
    return { type: 'named-file', fileId, filename: part.filename, param: part.param };
  };
  const named: InputMessage[] = [];
  for (const message of messages) {
    const content: InputPart[] = [];
    for (const part of message.content) content.push(await uploaded(part));
    named.push({ ...message, content });
  }
  return { messages: named, refs };
}

/** As the bytes of a file of the server are named in a log. */
function refOf(fileId: string): string {
  return `file:${fileId}`;
}

export interface FoundFiles {
  readonly messages: readonly InputMessage[];
  readonly files: ReadonlyMap<InputFile, FoundFile>;
  /** Of those that came inline: they are charged as uploads are (UR-53). */
  readonly givenBytes: number;
}

/** Reads and stores nothing. @throws RequestError  404 `file_not_found` with the part's path; 400 for too many. */
export async function findFiles(
  services: Services,
  principal: string,
  messages: readonly InputMessage[],
): Promise<FoundFiles> {
  const named = messages.flatMap(({ content }) => content.filter(isInputFile));
  if (named.length > mostFiles) throw new InvalidInputError(`input may bring at most ${mostFiles} files.`, 'input');
  const files = new Map<InputFile, FoundFile>();
  for (const file of named) files.set(file, await findFile(services, principal, file));
  const given = [...files.values()].filter(({ record }) => record === null);
  return { messages, files, givenBytes: given.reduce((sum, { bytes }) => sum + bytes, 0) };
}

async function findFile(services: Services, principal: string, part: InputFile): Promise<FoundFile> {
  if (part.type === 'given-file') {
    const { bytes } = part;
    const mediaType = part.mediaType || 'application/octet-stream';
    const filename = part.filename ?? `attachment.${mime.extension(mediaType) || 'bin'}`;
    return {
      filename,
      mediaType: typeOf(mediaType, filename),
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      record: null,
      read: async () => bytes,
    };
  }
  const id = fileIds.parse(part.fileId);
  const record = id === undefined ? null : await services.store.file(id);
  const param = `${part.param}.file_id`;
  if (record === null || record.principal !== principal) throw new NotFoundError('file', param);
  await using content = await openStored(services, record);
  if (content === null) throw new NotFoundError('file', param);
  const filename = part.filename ?? record.filename;
  const { bytes, sha256 } = record;
  const mediaType = typeOf(record.mediaType ?? '', filename);
  return { filename, mediaType, bytes, sha256, record, read: () => readStored(services, record) };
}

/** A type that says nothing gives way to what the name says: forms call everything text that is not called anything. */
function typeOf(given: string, filename: string): string {
  const plain = given.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (plain !== '' && plain !== 'application/octet-stream' && plain !== 'text/plain') return plain;
  return mime.lookup(filename) || plain || 'application/octet-stream';
}

async function toPart(
  { store }: Services,
  { runId }: Pick<FilesOwner, 'runId'>,
  o: { readonly file: FoundFile; readonly path: string; readonly room: { textBytes: number } },
): Promise<UserPart> {
  const { file, path, room } = o;
  const { bytes, record } = file;
  const name = { filename: file.filename, path };
  const content = bytes > 0 && bytes <= mostReadBytes ? await file.read() : null;
  const image = content === null ? null : viewableImage(content);
  if (content !== null && image !== null)
    return { type: 'media', mediaType: image, ...name, ...(await store.putContent(runId, content)) };
  const text = content === null || bytes > Math.min(mostTextBytes, room.textBytes) ? null : decodeText(content);
  if (text !== null) {
    room.textBytes -= bytes;
    return { type: 'file', mediaType: file.mediaType, ...name, text };
  }
  // It calls itself an image, and is none that can be shown.
  const mediaType = file.mediaType.startsWith('image/') ? 'application/octet-stream' : file.mediaType;
  if (record !== null) return { type: 'media', mediaType, ...name, ref: refOf(record.fileId), bytes };
  return { type: 'media', mediaType, ...name, ...(await store.putContent(runId, await file.read())) };
}

async function upload(
  services: Services,
  principal: string,
  { filename, mediaType, read }: FoundFile,
): Promise<FileRecord> {
  const bytes = await read();
  return uploadFile(services, principal, {
    filename,
    mediaType,
    bytes: (async function* () {
      yield bytes;
    })(),
  });
}

/** Byte for byte what it was, so that it can be written to a file again; null: it is no text, or one that nobody reads. */
function decodeText(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') || text.startsWith('%PDF-') ? null : text;
  } catch {
    return null;
  }
}
