import { createHash } from 'node:crypto';
import type { ToolContext, ToolOutput } from '../tool.ts';
import { replaceFile, type Place } from './workspace-path.ts';

type FileChange = NonNullable<ToolOutput['files']>[number];

/** Writes the whole content and says what changed. Absent `mode`: a new file. */
export async function writeContent(
  place: Place,
  content: { text: string; mode?: number },
  context: ToolContext,
): Promise<FileChange> {
  const bytes = Buffer.from(content.text); // lone surrogates become U+FFFD here (E-551)
  await replaceFile(place.folder, place.name, {
    bytes,
    temporaryName: `.reins-${sha256(`${context.executionKey}:${context.toolAttempt}`).slice(0, 16)}.tmp`,
    signal: context.signal,
    ...(content.mode === undefined ? {} : { mode: content.mode }),
  });
  const kind = place.kind === 'missing' ? 'create' : 'modify';
  return { kind, path: place.path, bytes: bytes.length, sha256: sha256(bytes) };
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
