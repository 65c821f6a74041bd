import { Readable } from 'node:stream';
import { InvalidInputError } from '../../core/errors.ts';
import { readUpload } from '../read-upload.ts';
import { toUhpFile } from '../../protocol/uhp/file.ts';
import { receiveFile } from '../../tasks/upload-file.ts';
import type { Call, Route } from '../route.ts';
import type { Services } from '../../tasks/services.ts';

/** `POST /v1/files`: a form, streamed to the disk (U-079). */
export function uploadRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/files',
      verbs: { POST: { scope: 'tasks', body: 'stream', handle: (call) => upload(services, call) } },
    },
  ];
}

async function upload(services: Services, { caller, request }: Call): Promise<unknown> {
  const { body } = request;
  if (!(body instanceof Readable))
    throw new InvalidInputError('The body must be a multipart/form-data form with a file in the field "file".', 'file');
  const { kept, purpose } = await readUpload(request.headers, body, (file) =>
    receiveFile(services, caller.principal, file),
  );
  return { ...toUhpFile(kept), purpose };
}
