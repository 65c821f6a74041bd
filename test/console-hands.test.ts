// The console page under a person's hands: keys, input methods, scrolling, and a browser that keeps nothing (C-070 to C-075).

import { expect, test } from 'vitest';
import {
  button,
  ends,
  expectAccessible,
  finished,
  hasFocus,
  log,
  message,
  sees,
  send,
  shown,
} from './support/console-steps.ts';
import { hold, reply, say, text } from './support/model.ts';
import { describeInChromium } from './support/chromium.ts';
import { openConsoleBench } from './support/console-bench.ts';
import type { BrowserContextOptions, Page } from 'playwright-core';

const paragraphs = (count: number) => Array.from({ length: count }, (_, at) => `Paragraph ${at} of the answer.\n\n`);
const replies = {
  long: [say(...paragraphs(80))],
  'long held': [reply(text(...paragraphs(40)), hold, text(...paragraphs(300)))],
  held: [reply(text('first '), hold, text('second'))],
};

/** Places of the transcript, in pixels. */
const scrolled = (page: Page) =>
  page.evaluate<{ top: number; toEnd: number }>(
    `(({ scrollTop: top, scrollHeight, clientHeight }) => ({ top, toEnd: scrollHeight - clientHeight - top }))(document.querySelector('[role=log]'))`,
  );

describeInChromium('C-090: under the hands of a person', (browser) => {
  const bench = openConsoleBench(browser, { replies });
  const open = (context?: BrowserContextOptions) => bench.open('/', context);

  test('C-070, item 15: with keys alone: write, send, stop, recall, search, open, close', async () => {
    await using opened = await open();
    const { page } = opened;
    const { keyboard } = page;
    await expect.poll(() => hasFocus(page)).toBe(true);
    await keyboard.type('held');
    await keyboard.press('Shift+Enter');
    await keyboard.press('Backspace');
    await keyboard.press('Enter');
    await sees(page, 'first');
    expect(await hasFocus(page)).toBe(true);
    await keyboard.press('Escape');
    await ends(page, 1, 'Turn ended · you stopped');
    await keyboard.press('ArrowUp');
    expect(await message(page).inputValue()).toBe('held');
    await message(page).fill('hello');
    await keyboard.press('Control+Enter');
    await ends(page, 2);
    await keyboard.press('Control+k');
    await keyboard.type('held');
    await expect.poll(() => page.getByRole('navigation').getByRole('listitem').count()).toBe(1);
    await keyboard.press('ArrowDown');
    await keyboard.press('Enter');
    await keyboard.press('Escape');
    await ends(page, 2);
    // The skip link is the first stop of the page.
    await page.evaluate('document.activeElement.blur()');
    await page.evaluate('document.body.focus()');
    await page.reload();
    await ends(page, 2);
    await opened.expectNoProblems();
  });

  test('C-071, item 9: Enter that confirms a candidate sends nothing', async () => {
    await using opened = await open();
    const { page, context } = opened;
    await message(page).focus();
    const devtools = await context.newCDPSession(page);
    await devtools.send('Input.imeSetComposition', { text: 'にほん', selectionStart: 3, selectionEnd: 3 });
    const enter = { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 229 };
    await devtools.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...enter });
    await devtools.send('Input.dispatchKeyEvent', { type: 'keyUp', ...enter });
    expect(await shown(page)).toEqual([]);
    await devtools.send('Input.insertText', { text: '日本' });
    expect(await message(page).inputValue()).toBe('日本');
    await page.keyboard.press('Enter');
    await ends(page, 1, finished);
    expect((await shown(page))[0]).toBe('日本');
    await opened.expectNoProblems();
  });

  test('C-075, item 8: who scrolled up is not moved by growth; at the end the page keeps to it', async () => {
    await using opened = await open({ viewport: { width: 900, height: 600 } });
    const { page } = opened;
    await send(page, 'long held');
    await sees(page, 'Paragraph 39 of');
    await expect.poll(async () => (await scrolled(page)).toEnd).toBeLessThan(2);
    await log(page).hover();
    await page.mouse.wheel(0, -500);
    await expect.poll(async () => (await scrolled(page)).toEnd).toBeGreaterThan(400);
    const before = await scrolled(page);
    bench.gate.open();
    await ends(page, 1, finished);
    expect((await scrolled(page)).top).toBe(before.top);
    await button(page, 'Jump to latest').click();
    await expect.poll(async () => (await scrolled(page)).toEnd).toBeLessThan(2);
    await send(page, 'long');
    await ends(page, 2, finished);
    await expect.poll(async () => (await scrolled(page)).toEnd).toBeLessThan(2);
    await opened.expectNoProblems();
  });

  test('C-072, item 13: a turn of 300 pieces is announced a few times, and the conversation itself never', async () => {
    await using opened = await open();
    const { page } = opened;
    await message(page).waitFor();
    await page.evaluate(`window.said = []; new MutationObserver(() => said.push(document.querySelector('[role=status]').textContent))
      .observe(document.querySelector('[role=status]'), { childList: true, characterData: true, subtree: true })`);
    await send(page, 'long held');
    await sees(page, 'Paragraph 39 of');
    bench.gate.open();
    await ends(page, 1, finished);
    await expect.poll(() => page.evaluate('said.at(-1)')).toBe(finished);
    expect(await page.evaluate('said.length')).toBeLessThan(6);
    expect(await log(page).getAttribute('aria-live')).toBe('off');
    await opened.expectNoProblems();
  });

  test('item 18: a browser that keeps nothing: said once, and nothing is lost', async () => {
    await using opened = await open();
    const { page, context } = opened;
    await context.addInitScript(`
      for (const name of ['localStorage', 'sessionStorage'])
        Object.defineProperty(window, name, { get() { throw new DOMException('forbidden', 'SecurityError'); } });
    `);
    await page.reload();
    await send(page, 'hello');
    await ends(page, 1, finished);
    await message(page).fill('a draft');
    await page.getByRole('list', { name: 'Notices' }).getByText('This browser keeps nothing').waitFor();
    expect(await page.getByRole('list', { name: 'Notices' }).getByRole('listitem').count()).toBe(1);
    expect(await message(page).inputValue()).toBe('a draft');
    expect(await shown(page)).toEqual(['hello', 'You said: hello', finished]);
    await opened.expectNoProblems();
  });

  test('C-047: a draft outlives a reload, for each session its own', async () => {
    await using opened = await open();
    const { page } = opened;
    await message(page).fill('of a new session');
    await page.reload();
    await expect.poll(() => message(page).inputValue()).toBe('of a new session');
    await send(page, 'hello');
    await ends(page, 1, finished);
    await message(page).fill('of this one');
    await page.reload();
    await ends(page, 1, finished);
    expect(await message(page).inputValue()).toBe('of this one');
    await button(page, 'New session').click();
    expect(await message(page).inputValue()).toBe('');
    await page.goBack();
    await ends(page, 1, finished);
    expect(await message(page).inputValue()).toBe('of this one');
    await opened.expectNoProblems();
  });

  test('C-054: a wrong address is said to be so, and begins no session', async () => {
    await using opened = await open();
    const { page } = opened;
    await page.goto(`${bench.server.url}/s/hsess_nobody`);
    await expect.poll(() => page.title()).toMatch(/^No such session/);
    await expectAccessible(page);
    await opened.expectNoProblems(/404/);
  });

  test.each([
    ['320 px', { viewport: { width: 320, height: 640 } }],
    ['dark', { colorScheme: 'dark' as const }],
    ['forced colours', { forcedColors: 'active' as const }],
    ['reduced motion', { reducedMotion: 'reduce' as const }],
  ])('C-074, item 15: accessible with %s, and nothing stands out to the side', async (_name, context) => {
    await using opened = await open(context);
    const { page } = opened;
    await send(page, 'long');
    await ends(page, 1, finished);
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await opened.expectNoProblems();
  });
});
