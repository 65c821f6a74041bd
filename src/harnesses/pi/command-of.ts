import { realpathSync } from 'node:fs';

/** Pi needs Node 22, and gets the one that runs here; a shim that no package manager has linked to its script runs as it is. */
export function commandOf(path: string): { readonly program: string; readonly args: readonly string[] } {
  const file = realpathSync(path);
  return /\.[cm]?js$/.test(file) ? { program: process.execPath, args: [file] } : { program: file, args: [] };
}
