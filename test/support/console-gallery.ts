// The console's panels alone, in a real browser: built without a server behind them, under the policy of the real page, and
// played the scenes of `console-scenes.ts`.

import { consolePolicy } from '../../src/http/send-console-file.ts';
import { createServer } from 'node:http';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { extname, join } from 'node:path';
import { lookup } from 'mime-types';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { root } from '../reins-process.ts';
import { tmpdir } from 'node:os';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Scene } from './console-scenes.ts';

export interface Gallery extends AsyncDisposable {
  /** A page of its own, with this scene played. */
  open(scene: Scene, context?: BrowserContextOptions): Promise<GalleryPage>;
}

export interface GalleryPage extends AsyncDisposable {
  readonly page: Page;
  play(scene: Scene): Promise<void>;
  /** In place of what was played so far. */
  show(scene: Scene): Promise<void>;
  /** What the page has asked for so far, of this kind. */
  effects(type: string): Promise<readonly Record<string, unknown>[]>;
  /** What the browser wrote as an error, reports of the policy among them. */
  readonly errors: readonly string[];
}

export async function buildGallery(browser: Browser): Promise<Gallery> {
  const outDir = await mkdtemp(join(tmpdir(), 'reins-gallery-'));
  // Apart, as a test run's own NODE_ENV would give the slow React of development.
  await promisify(execFile)(
    process.execPath,
    [
      `${root}node_modules/vite/bin/vite.js`,
      'build',
      `${root}src/console/gallery`,
      '--logLevel=warn',
      '--assetsInlineLimit=0',
      '--emptyOutDir',
      `--outDir=${outDir}`,
    ],
    { env: { ...process.env, NODE_ENV: 'production' } },
  );
  const server = createServer((request, response) => {
    const path = request.url === '/' ? '/index.html' : (request.url ?? '');
    readFile(join(outDir, path)).then(
      (bytes) => {
        const type = lookup(extname(path)) || 'application/octet-stream';
        response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': consolePolicy }).end(bytes);
      },
      () => response.writeHead(path === '/favicon.ico' ? 204 : 404).end(),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    open: (scene, context) => openPage(browser, { url, scene, context }),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await rm(outDir, { recursive: true, force: true });
    },
  };
}

interface Opening {
  readonly url: string;
  readonly scene: Scene;
  readonly context: BrowserContextOptions | undefined;
}

async function openPage(browser: Browser, { url, scene, context: options = {} }: Opening): Promise<GalleryPage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(url);
  await page.waitForSelector('.page');
  const play = async (more: Scene) => {
    await page.evaluate(`gallery.play(${JSON.stringify(more)})`);
    await settled(page);
  };
  await play(scene);
  return {
    page,
    play,
    async show(other) {
      await page.evaluate('gallery.reset()');
      await play(other);
    },
    errors,
    effects: (type) =>
      page.evaluate<Record<string, unknown>[]>(`gallery.effects.filter((each) => each.type === '${type}')`),
    [Symbol.asyncDispose]: () => context.close(),
  };
}

/** Drawn, and every size heard of. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))',
  );
}
