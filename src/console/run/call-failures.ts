import { ConnectionError, ServerError, TimeoutError, UhpError } from '../../client/index.ts';

/** Whether the server is away for a while: it, or a proxy before it, cannot answer now (T4). */
export function mayPass(error: unknown): boolean {
  if (error instanceof ServerError) return error.status === 502 || error.status === 503 || error.status === 504;
  return error instanceof ConnectionError || error instanceof TimeoutError;
}

/** In a sentence, for the person. */
export function messageOf(error: unknown): string {
  return error instanceof UhpError ? error.message : 'Something went wrong in this page.';
}

export function statusOf(error: unknown): number | null {
  return error instanceof UhpError ? error.status : null;
}
