// One file out of a multipart form, streamed (U-400). Whatever is wrong with a form is the client's to mend, and is said so.

import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import { InvalidInputError } from '../core/errors.ts';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';

export interface UploadedFile {
  readonly filename: string;
  readonly mediaType: string | null;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A file that is written, and not yet anybody's. */
export interface Received<T> {
  keep(): Promise<T>;
  discard(): Promise<void>;
}

const fieldBytes = 1_024;

/**
 * Reads a form with one file in the field `file`, which `receive` takes as it comes; it is kept once the form is whole.
 * @throws InvalidInputError  No form, broken off, without a file, or with two. Rejects as `receive` does.
 */
export async function readUpload<T>(
  headers: IncomingHttpHeaders,
  body: Readable,
  receive: (file: UploadedFile) => Promise<Received<T>>,
): Promise<{ readonly kept: T; readonly purpose: string }> {
  const parser = openParser(headers);
  const receiving: { readonly stream: Readable; readonly done: Promise<Received<T>> }[] = [];
  let purpose = 'user_data';
  const failed: { fault: Error | null } = { fault: null };
  const refused = Promise.withResolvers<void>();
  parser.on('field', (name, value) => {
    if (name === 'purpose' && value !== '') purpose = value;
  });
  parser.on('file', (_name, stream, filename, _encoding, mediaType) => {
    // Unheard, the end of a broken form would end the process.
    stream.on('error', () => {});
    if (receiving.length > 0) {
      failed.fault ??= new InvalidInputError('A form may hold one file only.', 'file');
      return void stream.resume();
    }
    // The parser's streams cannot be destroyed in mid-form: whoever leaves leaves the rest to be thrown away.
    const bytes = stream.iterator({ destroyOnReturn: false });
    const done = receive({ filename: filename ?? '', mediaType: mediaType || null, bytes });
    receiving.push({ stream, done });
    done.catch((cause: unknown) => {
      // A file that ends with its form is the form's fault.
      if (stream.errored !== null) return;
      failed.fault ??= cause instanceof Error ? cause : new Error('The file could not be saved.', { cause });
      stream.resume();
      refused.resolve();
    });
  });
  const form = await Promise.race([whole(body, parser), refused.promise]).then(
    () => null,
    (cause: unknown) => ({ cause }),
  );
  const [received] = receiving;
  if (failed.fault !== null) {
    // What the client still sends is read, so that it comes to read the answer.
    body.unpipe(parser);
    body.resume();
  }
  if (form !== null) received?.stream.destroy(new Error('The form was broken off.'));
  const file = await received?.done.catch(() => null);
  // A small form is whole before its file is refused.
  const { fault } = failed;
  if (fault === null && form === null && file !== null && file !== undefined)
    return { kept: await file.keep(), purpose };
  await file?.discard();
  if (fault !== null) throw fault;
  if (form !== null) throw broken(form.cause);
  throw new InvalidInputError('The form must hold a file in the field "file".', 'file');
}

function openParser(headers: IncomingHttpHeaders): BusboyInstance {
  const type = headers['content-type'] ?? '';
  try {
    const limits = { fieldNameSize: fieldBytes, fieldSize: fieldBytes, fields: 20, files: 2, parts: 30 };
    const withType: BusboyHeaders = { ...headers, 'content-type': type };
    return new Busboy({ headers: withType, limits, isPartAFile: (name) => name === 'file' });
  } catch (cause) {
    throw broken(cause);
  }
}

function whole(body: Readable, parser: BusboyInstance): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.once('finish', () => resolve());
    parser.once('error', reject);
    parser.once('close', () => reject(new Error('The form was not read to its end.')));
    body.once('error', (cause) => {
      parser.destroy();
      reject(cause);
    });
    body.once('close', () => {
      if (!body.readableEnded) parser.destroy(new Error('The client has gone.'));
    });
    body.pipe(parser);
  });
}

function broken(cause: unknown): InvalidInputError {
  const error = new InvalidInputError(
    'The body must be a whole multipart/form-data form with a file in the field "file".',
    'file',
  );
  error.cause = cause;
  return error;
}
