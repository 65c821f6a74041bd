import { createServer } from '../../src/compose.ts';
import { loadConfig } from '../../src/config.ts';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger } from '../../src/core/logger.ts';
import { tmpdir } from 'node:os';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
  /** JSON in, JSON out, with the owner's key or another one. */
  call(method: string, path: string, body?: unknown, token?: string): Promise<Answer>;
  /** Asks until it is so. */
  until(isSo: () => Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

export const ownerKey = 'owner-key-of-this-test';

/** A whole server in this process with the demo model and these settings. */
export async function startServer(
  settings: Readonly<Record<string, unknown>> = {},
  at?: string,
): Promise<RunningServer> {
  const dataDir = at ?? (await mkdtemp(join(tmpdir(), 'reins-test-')));
  const all = { webhooks: { allowLoopback: true }, demo: { speed: 'full' }, ...settings };
  await writeFile(join(dataDir, 'config.json'), JSON.stringify(all));
  const env = { REINS_API_KEY: ownerKey, REINS_DATA_DIR: dataDir, REINS_PORT: '0' };
  const server = await createServer(loadConfig({ env }), { logger: silentLogger });
  const { url } = await server.listen();
  const close = async () => {
    await server.close();
    if (at === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  return {
    url,
    dataDir,
    async call(method, path, body, token = ownerKey) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text.startsWith('{') ? JSON.parse(text) : { text },
      };
    },
    async until(isSo) {
      while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
