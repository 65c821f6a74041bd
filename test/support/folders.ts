import { mkdtempSync, rmSync } from 'node:fs';
import { afterAll } from 'vitest';
import { join } from 'node:path';
import { startServer } from './server.ts';
import { tmpdir } from 'node:os';

const folders: string[] = [];

/** An empty folder that is gone when the test file is: also for what is set up before a test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reins-'));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A data folder as a first start leaves it: with its database and the owner's harness. */
export async function startedFolder(): Promise<string> {
  const data = temporaryFolder();
  await using _first = await startServer({ data });
  return data;
}
