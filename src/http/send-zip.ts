// Many files as one answer: a zip that is made while it is read (UD-56).
//
// A1. One file is open at a time, from when its turn comes until it is over or the client has gone.
// A2. A file that cannot be read as it was announced cuts the answer short: a client sees that it has not got everything.

import { PassThrough, type Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { hostileContent } from './send-file.ts';
import type { OpenBlob } from '../files/blob-store.ts';
import type { OpenCall } from './route.ts';

export interface ArchivedFile {
  readonly filename: string;
  readonly bytes: number;
  readonly createdAtMs: number;
  /** Null: its bytes are gone. */
  readonly open: () => Promise<OpenBlob | null>;
}

export interface Archive {
  /** Of the zip itself. */
  readonly filename: string;
  readonly files: readonly ArchivedFile[];
  /** Paths of what is not in it. */
  readonly skipped: readonly string[];
}

export function sendArchive({ request, reply }: OpenCall, { filename, files, skipped }: Archive): unknown {
  reply.headers({
    ...hostileContent(filename),
    'Content-Type': 'application/zip',
    'Cache-Control': 'private, no-store',
  });
  if (request.method === 'HEAD') return reply.send('');
  const zip = new ZipFile();
  const answer = new PassThrough();
  let current: Readable | null = null;
  answer.once('close', () => current?.destroy());
  // Unheard, it would end the process.
  zip.on('error', (cause: Error) => answer.destroy(cause));
  const taken = new Set<string>();
  for (const file of files) {
    const options = { mtime: new Date(file.createdAtMs), mode: 0o100644, size: file.bytes };
    zip.addReadStreamLazy(zipName(file.filename, taken), options, (give) => {
      readFrom(file).then(
        (stream) => {
          current = stream.on('error', (cause) => answer.destroy(cause));
          if (answer.destroyed) stream.destroy();
          else give(null, stream);
        },
        (cause: unknown) => give(cause, new PassThrough()),
      );
    });
  }
  if (skipped.length > 0) {
    const list = `Not in this archive:\n${skipped.map(oneLine).join('\n')}\n`;
    zip.addBuffer(Buffer.from(list), zipName('REINS-SKIPPED.txt', taken));
  }
  zip.end();
  return reply.send(zip.outputStream.pipe(answer));
}

async function readFrom({ open }: ArchivedFile): Promise<Readable> {
  const content = await open();
  if (content === null) throw new Error('The bytes of a file are gone.');
  return content.stream();
}

/** A name that every unpacker takes for what it is: no backslash, no drive, and no other file's (UD-56). */
function zipName(filename: string, taken: Set<string>): string {
  const plain = filename.replaceAll(/[\\:\p{Cc}]/gu, '_');
  let name = plain;
  for (let copy = 2; taken.has(name); copy++) name = `${plain} (${copy})`;
  taken.add(name);
  return name;
}

const oneLine = (path: string): string => path.replaceAll(/\p{Cc}/gu, '_');
