// What agents made, for download (U-080 to U-083).

import { idOf, type Call, type Route } from '../route.ts';
import { listArchive, listFiles, openFile } from '../../tasks/read-files.ts';
import { PreviewBusyError, PreviewFailedError } from '../../files/pdf-preview.ts';
import { RequestError } from '../../core/errors.ts';
import { sendArchive } from '../send-zip.ts';
import { sendFile } from '../send-file.ts';
import { toUhpFile } from '../../protocol/uhp/file.ts';
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
      verbs: { GET: { scope: 'read', handle: (call) => sendAll(services, call) } },
    },
    {
      path: '/v1/containers/:container/files/:file/content',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call) {
            const { record, content } = await openFile(services, call.caller.principal, pairOf(call));
            return sendFile(call, { ...record, content });
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

/** Every artifact of the session (U-408); what could not be kept, and what is gone, is named in it (B119). */
async function sendAll(services: Services, call: Call): Promise<unknown> {
  const { files, left } = await listArchive(services, call.caller.principal, idOf(call));
  return sendArchive(call, { filename: `${idOf(call)}.zip`, files, skipped: left });
}

async function sendPreview(services: Services, preview: PdfPreview | null, call: Call): Promise<unknown> {
  const { record, content } = await openFile(services, call.caller.principal, pairOf(call));
  try {
    if (preview === null) throw previewError(501, 'This server makes no previews.');
    const pdf = await preview.convert(content, record.filename, call.signal());
    const filename = `${record.filename}.pdf`;
    return await sendFile(call, { content: pdf, filename, bytes: pdf.bytes, sha256: `${record.sha256}-pdf` });
  } catch (cause) {
    if (cause instanceof PreviewBusyError) throw previewsWait();
    if (!(cause instanceof PreviewFailedError)) throw cause;
    throw previewError(502, 'This file could not be made a PDF.', cause);
  } finally {
    await content[Symbol.asyncDispose]();
  }
}

function previewsWait(): RequestError {
  return new RequestError({
    status: 429,
    errorType: 'rate_limit_error',
    code: 'rate_limited',
    message: 'Too many files wait to be made PDFs; try again later, or download the file itself.',
    detail: { cap: 'previews' },
    headers: { 'Retry-After': '10' },
  });
}

function previewError(status: 501 | 502, message: string, cause?: unknown): RequestError {
  const code = status === 501 ? 'preview_unavailable' : 'preview_failed';
  return new RequestError({ status, errorType: 'server_error', code, message, cause });
}
