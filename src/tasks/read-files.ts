import { containerIds, fileIds, sessionOf } from '../core/ids.ts';
import { findLiveSession } from './find-in-scope.ts';
import { NotFoundError } from '../core/errors.ts';
import type { FileRecord } from '../stores/file-store.ts';
import type { OpenBlob } from '../files/blob-store.ts';
import type { Services } from './services.ts';

/** Artifacts of a session, the newest of each path (U-404). @throws NotFoundError */
export async function listFiles(
  services: Services,
  principal: string,
  sessionId: string,
): Promise<readonly FileRecord[]> {
  const session = await findLiveSession(services, principal, sessionId);
  return services.store.filesOfSession(session.sessionId);
}

export interface SessionArchive {
  readonly files: readonly (FileRecord & { readonly open: () => Promise<OpenBlob | null> })[];
  /** Paths of what is no artifact though the agent made it, and of artifacts whose bytes are gone. */
  readonly left: readonly string[];
}

/** All that a session's tasks made (U-408). @throws NotFoundError */
export async function listArchive(services: Services, principal: string, name: string): Promise<SessionArchive> {
  const { sessionId } = await findLiveSession(services, principal, name);
  const files: SessionArchive['files'][number][] = [];
  const gone: string[] = [];
  const kept = await services.files?.kept(sessionId);
  for (const record of await services.store.filesOfSession(sessionId)) {
    if (kept?.has(record.sha256) === true) files.push({ ...record, open: () => openListed(services, record) });
    else gone.push(record.filename);
  }
  return { files, left: [...gone, ...((await services.files?.left(sessionId)) ?? [])] };
}

export interface OpenedFile {
  readonly record: FileRecord;
  readonly content: OpenBlob;
}

/**
 * An artifact by its container and its own id; a pair that does not belong together is as unknown as any (U-406).
 * @throws NotFoundError  Also where its bytes are gone.
 */
export async function openFile(
  services: Services,
  principal: string,
  { container, file }: { readonly container: string; readonly file: string },
): Promise<OpenedFile> {
  const [containerId, fileId] = [containerIds.parse(container), fileIds.parse(file)];
  const record = fileId === undefined ? null : await services.store.file(fileId);
  const isIn = record !== null && containerId !== undefined && record.sessionId === sessionOf(containerId);
  if (!isIn || record.principal !== principal || record.sessionId === null) throw new NotFoundError('file');
  const content = await openListed(services, record);
  if (content === null) throw new NotFoundError('file');
  return { record, content };
}

/** Null: the bytes are gone. */
async function openListed({ files }: Services, record: FileRecord): Promise<OpenBlob | null> {
  return record.sessionId === null || files === null ? null : files.open(record.sessionId, record);
}
