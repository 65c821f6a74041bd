import { isAbsolute, relative, sep } from 'node:path';

/** Whether an absolute path is the folder or below it, by its text alone. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
