import { createServer } from 'node:http';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import mime from 'mime-types';
import { build } from 'vite';
import { consolePolicy } from '../../src/http/send-console-file.ts';

export interface ServedPage extends AsyncDisposable {
  readonly url: string;
}

/** The page in this folder, built as the console is and under the console's policy. */
export async function servePage(root = import.meta.dirname): Promise<ServedPage> {
  // The React of development is another one, and slow.
  process.env['NODE_ENV'] = 'production';
  const folder = await mkdtemp(join(tmpdir(), 'reins-page-'));
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    build: { outDir: folder, emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  });
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page');
    const name = pathname === '/' ? '/index.html' : pathname;
    readFile(join(folder, name)).then(
      (bytes) => {
        const headers = { 'Content-Type': mime.contentType(name.replace(/.*\//, '')) || 'text/plain' };
        response.writeHead(200, { ...headers, 'Content-Security-Policy': consolePolicy }).end(bytes);
      },
      () => response.writeHead(name === '/favicon.ico' ? 204 : 404).end(),
    );
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The page has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
