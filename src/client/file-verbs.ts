import { path } from './transport.ts';
import type { ClientParts } from './client-parts.ts';
import type { UhpFile } from '../protocol/uhp/file.ts';
import type { VerbOptions } from './shapes.ts';

export type FileVerbs = ReturnType<typeof fileVerbs>;

export interface UploadOptions extends VerbOptions {
  readonly filename: string;
  /**
   * Called with 0 when the sending begins, and with all of it when the server has taken it: in between no `fetch` tells, unless
   * it sends a stream, which browsers do not do over HTTP/1.1.
   */
  readonly onProgress?: (progress: { readonly loaded: number; readonly total: number }) => void;
}

export interface ContentOptions extends VerbOptions {
  /** Bytes from `start` to `end`, both included; without an end, to the last. */
  readonly range?: { readonly start: number; readonly end?: number };
}

export function fileVerbs({ transport: { json, open } }: ClientParts) {
  return {
    /** Sent once, and without a limit of time: a large file takes what it takes. */
    async upload(file: Blob, { filename, onProgress, signal }: UploadOptions): Promise<UhpFile> {
      const body = new FormData();
      body.append('purpose', 'user_data');
      body.append('file', file, filename);
      onProgress?.({ loaded: 0, total: file.size });
      const stored = await json<UhpFile>({ method: 'POST', path: '/v1/files', body, signal, timeoutMs: null });
      onProgress?.({ loaded: file.size, total: file.size });
      return stored;
    },
    /** The bytes as they are, with their own `Content-Type`: read the body as any answer's. Hostile content (U-423). */
    content: (containerId: string, fileId: string, { range, signal }: ContentOptions = {}) =>
      open({
        path: path`/v1/containers/${containerId}/files/${fileId}/content`,
        signal,
        ...(range === undefined ? {} : { headers: { Range: `bytes=${range.start}-${range.end ?? ''}` } }),
      }),
  };
}
