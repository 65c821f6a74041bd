// Signing in to the console page, in a real browser (C-062, B127).

import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInChromium } from './support/chromium.ts';
import { ends, message, send } from './support/console-steps.ts';
import { key } from './support/uhp.ts';
import { openConsolePage, startConsoleServer, type ConsoleServer } from './support/console-page.ts';
import type { Page } from 'playwright-core';

const inside = (page: Page) => page.getByText('Signed in as owner').waitFor();
const field = (page: Page) => page.getByLabel('API key');

async function type(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  await page.keyboard.press('Enter');
}

describeInChromium('C-062: signing in', (browser) => {
  let server: ConsoleServer;
  beforeAll(async () => void (server = await startConsoleServer()), 60_000);
  afterAll(() => server[Symbol.asyncDispose]());

  test('the link that the start prints opens the page once, stays in no address and no history, and outlives a restart', async () => {
    const link = server.consoleUrl;
    await using first = await openConsolePage(await browser(), { server, key: null, at: link });
    await inside(first.page);
    expect(first.page.url()).toBe(`${server.url}/`);
    await first.page.goto(`${server.url}/s/hsess_1`);
    await first.page.goBack();
    expect(first.page.url()).toBe(`${server.url}/`);
    await inside(first.page);
    await server.restart();
    await first.page.reload();
    await inside(first.page);
    // There is no such session.
    await first.expectNoProblems(/status of 404/);
    // The same browser needs no second ticket.
    await inside(await first.newTab(link));

    await using second = await openConsolePage(await browser(), { server, key: null, at: link });
    await second.page.getByRole('alert').getByText('once').waitFor();
    await field(second.page).waitFor();
    await second.expectNoProblems(/status of 401/);
  });

  test('a wrong key is refused in a sentence, the right one lets in, here and in every tab, until it is signed out', async () => {
    await using browserOfAda = await openConsolePage(await browser(), { server, key: null });
    const { page, context } = browserOfAda;
    await type(page, 'rk_wrong');
    await page.getByRole('alert').getByText('This API key is not valid here.').waitFor();
    await type(page, ` ${key} `);
    await inside(page);
    const other = await browserOfAda.newTab('/s/hsess_1');
    await inside(other);
    const kept = await page.evaluate('JSON.stringify([document.cookie, { ...localStorage, ...sessionStorage }])');
    expect(kept).toBe('["",{}]');
    expect(await context.cookies()).toMatchObject([{ httpOnly: true, sameSite: 'Strict', path: '/', secure: false }]);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await field(page).waitFor();
    await other.reload();
    await field(other).waitFor();
    await browserOfAda.expectNoProblems(/status of 40[14]/);
  });

  test('C-047: a message that is sent when the sign-in is gone is in the box again after the next one', async () => {
    await using opened = await openConsolePage(await browser(), { server });
    const { page, context } = opened;
    await send(page, 'say hello');
    await ends(page, 1);
    for (const text of ['say it again', 'say it once more']) {
      await context.clearCookies();
      await send(page, text);
      await field(page).waitFor();
      await type(page, key);
      await expect.poll(() => message(page).inputValue()).toBe(text);
      await ends(page, 1);
    }
    await page.keyboard.press('Enter');
    await ends(page, 2);
    await opened.expectNoProblems(/status of 401/);
  });

  test('B127: the key is in no request but the one that signs in, and there in its body', async () => {
    await using opened = await openConsolePage(await browser(), { server, key: null });
    const told: string[] = [];
    opened.context.on('request', (request) => {
      told.push(`${request.method()} ${request.url()} ${JSON.stringify(request.headers())}`);
    });
    await type(opened.page, key);
    await inside(opened.page);
    await opened.page.reload();
    await inside(opened.page);
    expect(told.length).toBeGreaterThan(3);
    expect(told.filter((line) => line.includes(key))).toEqual([]);
  });

  test('what the page may not do is stopped by the browser and seen by these tests', async () => {
    await using opened = await openConsolePage(await browser(), { server });
    await inside(opened.page);
    await opened.expectNoProblems();
    for (const work of [
      "document.body.innerHTML = '<b>x</b>'",
      "fetch('http://elsewhere.invalid/')",
      "new Promise((_, fail) => Object.assign(new Image(), { onerror: fail, src: 'http://elsewhere.invalid/x.png' }))",
    ])
      await expect(opened.page.evaluate(work)).rejects.toThrow();
    const stopped = () => opened.problems.violations.map((line) => line.split(' ')[0]);
    await expect.poll(stopped).toEqual(['require-trusted-types-for', 'connect-src', 'img-src']);
    expect(opened.problems.errors.length).toBeGreaterThan(0);
  });
});
