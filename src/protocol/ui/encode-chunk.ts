import { encodeUnnumberedSse } from '../sse.ts';
import type { UiChunk } from './chunk.ts';

export function encodeUiChunk(chunk: UiChunk): string {
  return encodeUnnumberedSse(JSON.stringify(chunk));
}

/** The last frame of a stream that has come to its end. */
export const uiStreamEnd = encodeUnnumberedSse('[DONE]');

/** Tells clients which kind of stream it is (P-084). */
export const uiStreamHeader = ['x-vercel-ai-ui-message-stream', 'v1'] as const;
