import { quotePath, ToolRefusal } from './tool-refusal.ts';
import { openFile, type Folder, type Place } from './workspace-path.ts';

export const maxTextFileBytes = 10 * 1024 * 1024;
const binaryProbeBytes = 8192;
const pdfMark = new TextEncoder().encode('%PDF-');

export interface FileContent {
  readonly bytes: Uint8Array;
  /** Permission bits. */
  readonly mode: number;
}

/** The whole file as it was long when opened; null when it is larger than `mostBytes`, of which nothing is read then. */
export async function readContent(folder: Folder, name: string, mostBytes: number): Promise<FileContent | null> {
  await using handle = await openFile(folder, name);
  const { size, mode } = await handle.stat();
  if (size > mostBytes) return null;
  const bytes = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return { bytes: bytes.subarray(0, filled), mode: mode & 0o777 };
}

/** A PDF is one, also where all its bytes could stand in a text. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, binaryProbeBytes).includes(0) || pdfMark.every((byte, at) => bytes[at] === byte);
}

/** The content of a text file, or a refusal that says why there is none. */
export async function readTextFile(place: Place, given: string): Promise<FileContent> {
  const path = quotePath(given);
  if (place.kind === 'missing') throw new ToolRefusal(`There is nothing at ${path}.`);
  if (place.kind === 'folder') throw new ToolRefusal(`${path} is a folder; list_files shows what is in it.`);
  if (place.kind === 'special') throw new ToolRefusal(`${path} is not a regular file.`);
  const content = await readContent(place.folder, place.name, maxTextFileBytes);
  if (content === null) throw new ToolRefusal(`${path} is larger than 10 MiB, too large to be read as one text.`);
  if (isBinary(content.bytes)) throw new ToolRefusal(`${path} is a binary file, not text.`);
  return content;
}
