import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type ServerUnderTest } from './server-link.ts';

/** A folder that goes with the scope it was made in. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'reins-bench-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export interface ServerPair extends AsyncDisposable {
  readonly bare: ServerUnderTest;
  readonly reins: ServerUnderTest;
}

/** The yardstick and Reins, each in a process of its own; they are measured in turns, so the idle one costs nothing. */
export async function startPair(profile?: string): Promise<ServerPair> {
  const folder = temporaryFolder();
  const [bare, reins] = await Promise.all([
    startServer('bare-server.ts'),
    startServer('reins-server.ts', [folder.path], profile),
  ]);
  return {
    bare,
    reins,
    async [Symbol.asyncDispose]() {
      await Promise.all([bare.stop(), reins.stop()]);
      folder[Symbol.dispose]();
    },
  };
}
