// The page of `examples/use-chat`, built as its user would, in a real browser: real React, real `useChat`, real server.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { build, preview, type PreviewServer } from 'vite';
import type { Browser, Page } from 'playwright-core';
import { call, hold, reply, say, text, type Replies } from './support/model.ts';
import { chatCall, stored, textOf } from './support/chat.ts';
import { describeInChromium } from './support/chromium.ts';
import { eventually, startAsking, type AskingServer } from './support/asking-server.ts';
import { key } from './support/uhp.ts';
import { temporaryFolder } from './support/folders.ts';

const write = (id: string) => call(id, 'write_file', { path: 'made.txt', content: 'made' });
const replies: Replies = {
  list: [reply(text('Looking. '), call('l', 'list_files', {})), say('There is nothing.')],
  write: [reply(text('Writing. '), write('w')), say('Done.')],
  slow: [reply(text('one '), call('l', 'list_files', {})), reply(text('two '), hold, text('three'))],
};

describeInChromium('examples/use-chat', (browser: () => Promise<Browser>) => {
  let place: AskingServer;
  let pages: PreviewServer;
  let address: string;
  beforeAll(async () => {
    place = await startAsking({ replies });
    Object.assign(process.env, { REINS_URL: place.uhp.url, REINS_API_KEY: key });
    const config = {
      configFile: 'examples/use-chat/vite.config.ts',
      logLevel: 'silent',
      build: { outDir: temporaryFolder() },
    } as const;
    await build(config);
    pages = await preview({ ...config, preview: { port: 0, host: '127.0.0.1' } });
    address = pages.resolvedUrls?.local[0] ?? '';
  });
  afterAll(async () => {
    await pages.close();
    await place[Symbol.asyncDispose]();
  });

  async function open(id: string, work: (page: Page) => Promise<void>): Promise<void> {
    const context = await (await browser()).newContext();
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(5_000);
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(error.message));
      await page.goto(`${address}#${id}`);
      await work(page);
      expect(faults).toEqual([]);
    } finally {
      await context.close();
    }
  }
  const say_ = async (page: Page, words: string) => {
    await page.getByLabel('Message').fill(words);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  const settled = (page: Page) => page.locator('output', { hasText: 'ready' }).waitFor();
  const answers = (page: Page) => page.locator('[data-role=assistant] p').allTextContents();

  test('an answer streams, with the tool that it took', () =>
    open('page-answer', async (page) => {
      await say_(page, 'list');
      await page.getByText('There is nothing.').waitFor();
      await settled(page);
      expect(await answers(page)).toEqual(['Looking. ', 'There is nothing.']);
      expect(await page.locator('[data-tool=list_files] em').textContent()).toBe('output-available');
    }));

  test('what is allowed by a click is done; what is denied is not, and the turn goes on', async () => {
    for (const [id, button, state] of [
      ['page-allow', 'Allow', 'output-available'],
      ['page-deny', 'Deny', 'output-denied'],
    ] as const)
      await open(id, async (page) => {
        await say_(page, 'write');
        await page.getByRole('button', { name: button }).click();
        await page.getByText('Done.').waitFor();
        await settled(page);
        expect(await answers(page)).toEqual(['Writing. ', 'Done.']);
        expect(await page.locator('[data-tool=write_file] em').textContent()).toBe(state);
        expect(await page.locator('[role=alert]').count()).toBe(0);
      });
  });

  test('an approval outlives a reload', () =>
    open('page-reload-waiting', async (page) => {
      await say_(page, 'write');
      await page.getByRole('button', { name: 'Allow' }).waitFor();
      await page.reload();
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('Done.').waitFor();
      await settled(page);
      expect(await answers(page)).toEqual(['Writing. ', 'Done.']);
    }));

  test('a reload in the middle loses nothing and doubles nothing; the stop ends the turn, not only the stream', () =>
    open('page-stop', async (page) => {
      await say_(page, 'slow');
      await page.getByText('two').waitFor();
      await page.reload();
      await page.locator('output', { hasText: 'streaming' }).waitFor();
      expect(await answers(page)).toEqual(['one ', 'two ']);
      expect(await page.locator('[data-tool=list_files]').count()).toBe(1);
      await page.getByRole('button', { name: 'Stop' }).click();
      await settled(page);
      expect(await answers(page)).toEqual(['one ', 'two ']);
      expect((await chatCall(place.uhp.url, '/api/chat/page-stop/stream')).status).toBe(204);
    }));

  test('after a reload the rest of the answer comes', () =>
    open('page-reload', async (page) => {
      await say_(page, 'slow');
      await page.getByText('two').waitFor();
      await page.reload();
      await page.locator('output', { hasText: 'streaming' }).waitFor();
      place.gate.open();
      await page.getByText('two three').waitFor();
      await settled(page);
      expect(await answers(page)).toEqual(['one ', 'two three']);
      await eventually(async () =>
        textOf((await stored(place.uhp.url, 'page-reload')).at(-1)) === 'one two three' ? true : undefined,
      );
    }));
});
