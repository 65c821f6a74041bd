import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A Node from 18 to 23 on the path, past the ones that npm puts first; null where the machine has none. */
export function findOldNode(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return folders.map((folder) => join(folder, 'node')).find(isOldNode) ?? null;
}

function isOldNode(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    const major = Number.parseInt(execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }), 10);
    return major >= 18 && major < 24;
  } catch {
    return false;
  }
}
