import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { root } from '../reins-process.ts';

/** The page as its sources are now; built only where they have changed. */
export async function ensureConsoleBuilt(): Promise<void> {
  const build = [`${root}scripts/build-console.js`, '--if-stale'];
  const { stderr } = await promisify(execFile)(process.execPath, build);
  if (stderr !== '') throw new Error(stderr);
}
