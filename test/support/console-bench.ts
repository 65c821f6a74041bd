import { afterAll, beforeAll } from 'vitest';
import { createGate, startModel, type Gate, type Replies, type TestModel } from './model.ts';
import { openConsolePage, startConsoleServer, type ConsolePage, type ConsoleServer } from './console-page.ts';
import type { Browser, BrowserContextOptions } from 'playwright-core';

export interface ConsoleBench {
  /** A page in a browser of its own. Replies that wait from here on wait for a gate of their own. */
  open(at?: string, context?: BrowserContextOptions): Promise<ConsolePage>;
  /** That of the page that was opened last. */
  readonly gate: Gate;
  readonly model: TestModel;
  readonly server: ConsoleServer;
}

/** A whole server over a scripted model, shared by the tests of one suite. */
export function openConsoleBench(
  browser: () => Promise<Browser>,
  { replies, settings = {} }: { readonly replies: Replies; readonly settings?: object },
): ConsoleBench {
  let gate = createGate();
  let parts: { readonly model: TestModel; readonly server: ConsoleServer } | null = null;
  const there = () => {
    if (parts === null) throw new Error('There is no server.');
    return parts;
  };
  beforeAll(async () => {
    const clock = { now: () => 0, timer: (...of: Parameters<Gate['timer']>) => gate.timer(...of) };
    const model = await startModel((asked) => (Object.hasOwn(replies, asked) ? replies[asked] : undefined), clock);
    parts = { model, server: await startConsoleServer({ model, settings }) };
  }, 90_000);
  afterAll(async () => {
    gate.open();
    await parts?.server[Symbol.asyncDispose]();
    await parts?.model[Symbol.asyncDispose]();
  });
  return {
    async open(at = '/', context = {}) {
      gate = createGate();
      return openConsolePage(await browser(), { server: there().server, at, context });
    },
    get gate() {
      return gate;
    },
    get model() {
      return there().model;
    },
    get server() {
      return there().server;
    },
  };
}
