// The console page in a real browser over a whole server, and all that the page may never do, written down as it happens.

import { createServer, type Parts } from '../../src/compose.ts';
import { connectTo, key, type Uhp } from './uhp.ts';
import { ensureConsoleBuilt } from './console-build.ts';
import { expect } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { silentLogger } from '../../src/core/logger.ts';
import { tmpdir } from 'node:os';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { Server } from '../../src/server.ts';
import type { TestModel } from './model.ts';

export interface ConsoleServer extends AsyncDisposable {
  readonly url: string;
  /** The link that a start prints; a new one after each. */
  readonly consoleUrl: string;
  readonly dataDir: string;
  /** As the owner, beside the page. */
  readonly uhp: Uhp;
  /** Stopped in order, and started again at the same address. */
  restart(): Promise<void>;
}

export interface ConsoleServerOptions extends Parts {
  /** Absent: the demo model, at full speed. */
  readonly model?: TestModel;
  /** What `config.json` in the data folder would say. */
  readonly settings?: object;
}

export async function startConsoleServer(options: ConsoleServerOptions = {}): Promise<ConsoleServer> {
  const [dataDir] = await Promise.all([mkdtemp(join(tmpdir(), 'reins-console-')), ensureConsoleBuilt()]);
  let running = await start(options, { dataDir, port: '0' });
  const { url } = running;
  return {
    url,
    dataDir,
    uhp: connectTo(url),
    get consoleUrl() {
      return running.consoleUrl;
    },
    async restart() {
      await running.server.close();
      running = await start(options, { dataDir, port: new URL(url).port });
    },
    async [Symbol.asyncDispose]() {
      await running.server.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

interface Running {
  readonly server: Server;
  readonly url: string;
  readonly consoleUrl: string;
}

async function start(
  { model, settings = {}, ...parts }: ConsoleServerOptions,
  { dataDir, port }: { readonly dataDir: string; readonly port: string },
): Promise<Running> {
  const config = loadConfig({
    flags: { data: dataDir, port },
    env: { REINS_API_KEY: key, REINS_DEMO_SPEED: 'full', ...model?.env },
    readFile: () => JSON.stringify({ limits: { drainSeconds: 0 }, ...model?.settings, ...settings }),
  });
  const server = await createServer(config, { logger: silentLogger, ...parts });
  return { server, ...(await server.listen()) };
}

export interface ConsolePage extends AsyncDisposable {
  readonly page: Page;
  /** Another tab of the same browser: with its cookie, and watched as well. */
  newTab(path?: string): Promise<Page>;
  readonly context: BrowserContext;
  readonly problems: Problems;
  /** Nothing so far that the page may not do. @param except  What is expected, by its text. */
  expectNoProblems(except?: RegExp): Promise<void>;
}

export interface Problems {
  /** Reports of the policy, those of Trusted Types among them. */
  readonly violations: string[];
  /** What the page, or the browser for it, wrote to the console as an error, and errors that nobody caught. */
  readonly errors: string[];
  /** Requests that went to another host, or tried to. */
  readonly foreign: string[];
}

export interface ConsolePageOptions {
  readonly server: Pick<ConsoleServer, 'url'>;
  /** Whose page it is; null: nobody's yet. Absent: the owner's. */
  readonly key?: string | null;
  /** Absent: `/`. A whole address for a link that was printed. */
  readonly at?: string;
  readonly context?: BrowserContextOptions;
}

export async function openConsolePage(browser: Browser, options: ConsolePageOptions): Promise<ConsolePage> {
  const { server, key: own = key, at = '/' } = options;
  const context = await browser.newContext(options.context);
  const problems: Problems = { violations: [], errors: [], foreign: [] };
  await watch(context, { problems, host: new URL(server.url).host });
  if (own !== null) await signInContext(context, { url: server.url, own });
  const newTab = async (path = '/') => {
    const page = await context.newPage();
    await page.goto(new URL(path, server.url).href);
    return page;
  };
  return {
    page: await newTab(at),
    newTab,
    context,
    problems,
    async expectNoProblems(except) {
      // A page reports a moment after the deed.
      const moment = 'new Promise((done) => setTimeout(done))';
      await Promise.all(context.pages().map((each) => each.evaluate(moment)));
      const left = (each: readonly string[]) => each.filter((line) => except?.test(line) !== true);
      const { violations, errors, foreign } = problems;
      expect([left(violations), left(errors), left(foreign)]).toEqual([[], [], []]);
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}

async function watch(
  context: BrowserContext,
  { problems, host }: { readonly problems: Problems; readonly host: string },
): Promise<void> {
  await context.exposeBinding('tellViolation', (_source, line: string) => void problems.violations.push(line));
  await context.addInitScript(`
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sample }) =>
      tellViolation([effectiveDirective, blockedURI, sample].join(' ')));
  `);
  context.on('console', (message) => message.type() === 'error' && problems.errors.push(message.text()));
  context.on('weberror', (error) => problems.errors.push(String(error.error())));
  context.on('request', (request) => {
    const { protocol, host: other } = new URL(request.url());
    if (/^https?:$/.test(protocol) && other !== host) problems.foreign.push(request.url());
  });
}

/** By the same request as the page's own form. */
async function signInContext(
  context: BrowserContext,
  { url, own }: { readonly url: string; readonly own: string },
): Promise<void> {
  const answer = await context.request.post(`${url}/v1/reins/console/session`, {
    headers: { Origin: url },
    data: { key: own },
  });
  expect(answer.status()).toBe(200);
}
