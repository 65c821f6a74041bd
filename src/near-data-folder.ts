import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** Where `npm start` keeps everything. */
const near = '.reins';

/**
 * A sentence for who meant the server of `npm start` in this folder and got another data folder, with the blank before it; empty
 * where there is nothing to mix up.
 */
export function nearDataFolderHint(dataDir: string): string {
  const path = resolve(near);
  return path === dataDir || !existsSync(path) ? '' : ` For the server of npm start in this folder: --data ${near}.`;
}
