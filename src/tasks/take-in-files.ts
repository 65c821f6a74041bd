// Files that clients give, made what a task holds (UD-44, E-105). Everything that can be refused is refused before a byte is
// stored; where what is stored is not used in the end, it goes by the retention of uploads and of unclaimed contents.
//
// - Small texts are words of the message. Images and PDFs go to the content store, for models that can be shown them. All else
//   is an upload: one of the client's, or one that is made here.
// - Each of them also lies in the working directory. Where, is decided here and stands in the log; it is put there when the
//   run begins (`place-input-files.ts`).

import mime from 'mime-types';
import { fileIds, type RunId, type SessionId } from '../core/ids.ts';
import { freeName, safeName } from '../files/safe-name.ts';
import { isInputFile, areTakenIn, type InputFile, type InputMessage, type InputPart } from '../core/input-file.ts';
import { isJsonObject, type JsonValue } from '../core/json.ts';
import { NotFoundError } from '../core/errors.ts';
import { openStored, readStored } from './stored-file.ts';
import { readdir } from 'node:fs/promises';
import { uploadFile } from './upload-file.ts';
import type { FileRecord } from '../stores/file-store.ts';
import type { Services } from './services.ts';
import type { UserMessage, UserPart } from '../core/run-event.ts';

export interface FilesOwner {
  readonly principal: string;
  readonly runId: RunId;
  readonly sessionId: SessionId;
}

/** A file whose bytes are known to be there. */
interface FoundFile {
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: number;
  readonly param: string;
  /** Null: it is nobody's yet. */
  readonly record: FileRecord | null;
  read(): Promise<Uint8Array>;
}

const textBytes = 64 * 1024;
const shownBytes = 20 * 1024 * 1024;
const shown = /^(?:image\/|application\/pdf$)/;
const textual = /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|.+\+(?:json|xml)))$/;

/** @throws RequestError  404 `file_not_found` with the part's path, 413. */
export async function takeInFiles(
  services: Services,
  owner: FilesOwner,
  messages: readonly InputMessage[],
): Promise<readonly UserMessage[]> {
  if (areTakenIn(messages)) return messages;
  const found = new Map<InputFile, FoundFile>();
  for (const part of messages.flatMap(({ content }) => content))
    if (isInputFile(part)) found.set(part, await findFile(services, owner.principal, part));
  const workspace = await services.workspaces.ensure(owner.sessionId);
  const taken = new Set(await readdir(workspace));
  const result: UserMessage[] = [];
  for (const { content, ...rest } of messages) {
    const parts: UserPart[] = [];
    for (const part of content) {
      const file = isInputFile(part) ? found.get(part) : undefined;
      if (file !== undefined) parts.push(await takeIn(services, owner, { file, taken }));
      else if (!isInputFile(part)) parts.push(part);
    }
    result.push({ ...rest, content: parts });
  }
  return result;
}

/** Files given inline become uploads, so that what waits to be started holds names alone. */
export async function uploadGiven(
  services: Services,
  principal: string,
  messages: readonly InputMessage[],
): Promise<readonly InputMessage[]> {
  const uploaded = async (part: InputPart): Promise<InputPart> => {
    if (!isInputFile(part)) return part;
    if (part.type === 'named-file') await findFile(services, principal, part);
    if (part.type === 'named-file') return part;
    const { fileId } = await upload(services, principal, await findFile(services, principal, part));
    return { type: 'named-file', fileId, filename: part.filename, param: part.param };
  };
  return Promise.all(
    messages.map(async (message) => ({ ...message, content: await Promise.all(message.content.map(uploaded)) })),
  );
}

async function findFile(services: Services, principal: string, part: InputFile): Promise<FoundFile> {
  if (part.type === 'given-file') {
    const { bytes, param } = part;
    const mediaType = part.mediaType || 'application/octet-stream';
    const filename = safeName(part.filename ?? `attachment.${mime.extension(mediaType) || 'bin'}`);
    return {
      filename,
      mediaType: typeOf(mediaType, filename),
      bytes: bytes.length,
      param,
      record: null,
      read: async () => bytes,
    };
  }
  const id = fileIds.parse(part.fileId);
  const record = id === undefined ? null : await services.store.file(id);
  const param = `${part.param}.file_id`;
  if (record === null || record.principal !== principal) throw new NotFoundError('file', param);
  const handle = await openStored(services, record);
  if (handle === null) throw new NotFoundError('file', param);
  await handle.close();
  const filename = safeName(part.filename ?? record.filename);
  return {
    filename,
    mediaType: typeOf(record.mediaType ?? '', filename),
    bytes: record.bytes,
    param: part.param,
    record,
    read: () => readStored(services, record),
  };
}

/** A type that says nothing gives way to what the name says. */
function typeOf(given: string, filename: string): string {
  const plain = given.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (plain !== '' && plain !== 'application/octet-stream') return plain;
  return mime.lookup(filename) || 'application/octet-stream';
}

async function takeIn(
  services: Services,
  { principal, runId }: FilesOwner,
  { file, taken }: { readonly file: FoundFile; readonly taken: Set<string> },
): Promise<UserPart> {
  const { mediaType, bytes } = file;
  const path = freeName(file.filename, (name) => taken.has(name));
  taken.add(path);
  if (bytes <= textBytes && textual.test(mediaType)) {
    const text = decodeText(await file.read());
    if (text !== null) return { type: 'file', filename: file.filename, mediaType, text, path };
  }
  if (bytes <= shownBytes && shown.test(mediaType) && bytes > 0) {
    const stored = await services.store.putContent(runId, await file.read());
    return { type: 'media', mediaType, filename: file.filename, path, ...stored };
  }
  const { fileId } = file.record ?? (await upload(services, principal, file));
  return { type: 'media', mediaType, filename: file.filename, path, ref: `file:${fileId}`, bytes };
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

/** Byte for byte what it was, so that it can be written to a file again; null: it is no text. */
function decodeText(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

const itemUnits = 96 * 1024;

/** The input's items as they are kept: the bytes of a large file are not said again, and `reins_omitted` says so. */
export function keptItems(items: readonly JsonValue[]): readonly JsonValue[] {
  return items.map((item) => {
    if (!isJsonObject(item) || !Array.isArray(item['content'])) return item;
    const content = item['content'].map((part: JsonValue) => {
      if (!isJsonObject(part)) return part;
      const large = ['file_data', 'image_url'].filter((key) => String(part[key] ?? '').length > itemUnits);
      const rest = Object.entries(part).filter(([key]) => !large.includes(key));
      return large.length === 0 ? part : { ...Object.fromEntries(rest), reins_omitted: large };
    });
    return { ...item, content };
  });
}
