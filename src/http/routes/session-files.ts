// What agents made, for download (U-080 to U-083).

import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { hostileContent, sendFile } from '../send-file.ts';
import { idOf, type Call, type Route } from '../route.ts';
import { listFiles, openFile, openListed } from '../../tasks/read-files.ts';
import { PreviewFailedError } from '../../files/pdf-preview.ts';
import { RequestError } from '../../core/errors.ts';
import { toUhpFile } from '../../protocol/uhp/file.ts';
import type { FileRecord } from '../../stores/file-store.ts';
import type { PdfPreview } from '../../files/pdf-preview.ts';
import type { Services } from '../../tasks/services.ts';

export function sessionFileRoutes(services: Services, preview: PdfPreview | null): readonly Route[] {
  return [
    {
      path: '/v1/sessions/:id/files',
      verbs: {
        GET: {
          scope: 'read',
          handle: async (call) => ({
            files: (await listFiles(services, call.caller.principal, idOf(call))).map(toUhpFile),
          }),
        },
      },
    },
    {
      path: '/v1/sessions/:id/files/archive',
      verbs: { GET: { scope: 'read', handle: (call) => sendArchive(services, call) } },
    },
    {
      path: '/v1/containers/:container/files/:file/content',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call) {
            const { record, handle } = await openFile(services, call.caller.principal, pairOf(call));
            return sendFile(call, { ...record, handle });
          },
        },
      },
    },
    {
      path: '/v1/containers/:container/files/:file/pdf',
      verbs: { GET: { scope: 'read', handle: (call) => sendPreview(services, preview, call) } },
    },
  ];
}

function pairOf({ request }: Call): { readonly container: string; readonly file: string } {
  return { container: request.params['container'] ?? '', file: request.params['file'] ?? '' };
}

/** Every artifact of the session as a zip that is made while it is read (UD-56). */
async function sendArchive(services: Services, call: Call): Promise<unknown> {
  const files = await listFiles(services, call.caller.principal, idOf(call));
  const zip = new ZipFile();
  const missing: string[] = [];
  const taken = new Set<string>();
  for (const file of files) {
    const handle = await openListed(services, file);
    await handle?.close();
    if (handle === null) missing.push(file.filename);
    else addToZip(services, { zip, file, name: zipName(file.filename, taken) });
  }
  if (missing.length > 0)
    zip.addBuffer(Buffer.from(`Not in this archive:\n${missing.join('\n')}\n`), zipName('REINS-SKIPPED.txt', taken));
  zip.end();
  const headers = { 'Content-Type': 'application/zip', 'Cache-Control': 'no-store' };
  call.reply.headers({ ...hostileContent(`${idOf(call)}.zip`), ...headers });
  return call.reply.send(zip.outputStream);
}

/** Opened when its turn comes: an archive of thousands of files holds one of them open. */
function addToZip(
  services: Services,
  { zip, file, name }: { readonly zip: ZipFile; readonly file: FileRecord; readonly name: string },
): void {
  const options = { mtime: new Date(file.createdAtMs), mode: 0o100644, size: file.bytes };
  zip.addReadStreamLazy(name, options, (give) => {
    openListed(services, file)
      .then((handle) => handle?.createReadStream({ autoClose: true }) ?? Readable.from([]))
      .then(
        (stream) => give(null, stream),
        (cause: unknown) => give(cause, Readable.from([])),
      );
  });
}

/** A name that every unpacker takes for what it is: no backslash, no drive, and no other file's (UD-56). */
function zipName(filename: string, taken: Set<string>): string {
  const plain = filename.replaceAll(/[\\:\p{Cc}]/gu, '_');
  let name = plain;
  for (let copy = 2; taken.has(name); copy++) name = `${plain} (${copy})`;
  taken.add(name);
  return name;
}

async function sendPreview(services: Services, preview: PdfPreview | null, call: Call): Promise<unknown> {
  const { record, handle } = await openFile(services, call.caller.principal, pairOf(call));
  try {
    if (preview === null) throw previewError(501, 'preview_unavailable', 'This server makes no previews.');
    const pdf = await preview.convert(handle, record.filename, call.signal());
    const { size } = await pdf.stat();
    const filename = `${record.filename}.pdf`;
    return await sendFile(call, { handle: pdf, filename, bytes: size, sha256: `${record.sha256}-pdf` });
  } catch (cause) {
    if (!(cause instanceof PreviewFailedError)) throw cause;
    throw previewError(502, 'preview_failed', 'This file could not be made a PDF.', cause);
  } finally {
    await handle.close();
  }
}

function previewError(status: 501 | 502, code: string, message: string, cause?: unknown): RequestError {
  return new RequestError({ status, errorType: 'server_error', code, message, cause });
}
