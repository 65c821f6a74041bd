import { realpathSync } from 'node:fs';

/** A script runs in the Node that runs here: the one on the path may be too old for it. */
export function commandOf(path: string): { readonly program: string; readonly args: readonly string[] } {
  const file = realpathSync(path);
  return /\.[cm]?js$/.test(file) ? { program: process.execPath, args: [file] } : { program: file, args: [] };
}
