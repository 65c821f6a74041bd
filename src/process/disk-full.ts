import { statfs } from 'node:fs/promises';

/** What a writer is told where there is no room, or none for its user. */
export function isNoSpace(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOSPC' || cause.code === 'EDQUOT');
}

const leastBytes = 1024 * 1024;

/** Whether the file system of a path has no room any more; what cannot be asked has. */
export async function isDiskFull(path: string): Promise<boolean> {
  const found = await statfs(path).catch(() => null);
  if (found === null || found.blocks === 0) return false;
  return found.bavail * found.bsize < leastBytes || (found.files > 0 && found.ffree === 0);
}
