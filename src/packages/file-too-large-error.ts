import { RequestError } from '../core/errors.ts';

/** 413 `file_too_large`: nothing of it was kept (UD-63). */
export class FileTooLargeError extends RequestError {
  constructor(maxBytes: number) {
    super({
      status: 413,
      errorType: 'invalid_request_error',
      code: 'file_too_large',
      message: `The files of one skill or plugin may hold at most ${maxBytes} bytes together.`,
      detail: { max_bytes: maxBytes },
    });
  }
}
