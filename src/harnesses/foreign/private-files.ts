import { basename, join } from 'node:path';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import type { JsonObject } from '../../core/json.ts';

/** Readable by nobody else: the lease is in some of them. What an agent has put in its place, as a link, is not followed. */
export async function writePrivate(file: string, content: string | JsonObject): Promise<void> {
  const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
  await rm(file, { recursive: true, force: true });
  await writeFile(file, text, { mode: 0o600, flag: 'wx' });
}

/** Copies, and no links: an agent may look for skills among folders alone. Those of an earlier start are gone (H-083). */
export async function placeSkills(folders: readonly string[], into: string): Promise<void> {
  await rm(into, { recursive: true, force: true });
  await mkdir(into, { recursive: true, mode: 0o700 });
  for (const folder of folders) await cp(folder, join(into, basename(folder)), { recursive: true });
}
