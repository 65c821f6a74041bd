import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Absolute path of a program as a shell would find it in `path`; null when there is none. */
export function findProgram(name: string, path: string | undefined): string | null {
  const folders = (path ?? '').split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
