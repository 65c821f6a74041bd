// The console's panels in a real browser: every state of `support/console-scenes.ts`, as people of all kinds meet it (C-074), and
// with texts that want to be more than text.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { attackScene, scenes, type SceneName } from './support/console-scenes.ts';
import { attackTexts } from './support/attack-texts.ts';
import { buildGallery, settled, type Gallery } from './support/console-gallery.ts';
import { describeInChromium } from './support/chromium.ts';
import { message as composer } from './support/console-steps.ts';
import axe from 'axe-core';
import type { Page } from 'playwright-core';

const phone = { viewport: { width: 320, height: 640 } };
const names = Object.keys(scenes) as SceneName[];

async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>(
    'axe.run(document, { resultTypes: ["violations"] })',
  );
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}

describeInChromium('the states of the page', (browser) => {
  let gallery: Gallery;
  beforeAll(async () => void (gallery = await buildGallery(await browser())), 120_000);
  afterAll(() => gallery[Symbol.asyncDispose]());

  /** One after the other in one page. */
  async function eachScene(look: (name: SceneName, page: Page) => Promise<void>, context = {}): Promise<void> {
    await using opened = await gallery.open(scenes.empty, context);
    for (const name of names) {
      await opened.show(scenes[name]);
      await look(name, opened.page);
    }
    expect(opened.errors).toEqual([]);
  }

  test('C-074, C-090: no serious finding in any state, in light', async () => {
    await eachScene(async (name, page) => {
      expect([name, await seriousFindings(page)]).toEqual([name, []]);
    });
  }, 120_000);

  test('C-074, C-090: no serious finding in any state, in dark, at the width of a phone', async () => {
    await eachScene(
      async (name, page) => {
        expect([name, await seriousFindings(page)]).toEqual([name, []]);
      },
      { colorScheme: 'dark', ...phone },
    );
  }, 120_000);

  test('C-074: no state is wider than 320 px, and the message is in reach', async () => {
    await eachScene(async (name, page) => {
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect([name, width]).toEqual([name, 320]);
      if (name !== 'missing') await expect(composer(page).isVisible()).resolves.toBe(true);
    }, phone);
  }, 60_000);

  test('C-074: at 400 % zoom all can be reached', async () => {
    await using opened = await gallery.open(scenes.asking, { viewport: { width: 320, height: 200 } });
    const { page } = opened;
    await page.getByRole('button', { name: 'Allow once' }).click();
    expect(await opened.effects('decide')).toHaveLength(1);
    await composer(page).fill('x');
    await page.getByRole('button', { name: 'Sessions' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    expect(await page.evaluate('asked')).toEqual(['sign out']);
  });

  test('C-074: every target is 24 × 24 px or more', async () => {
    await eachScene(async (name, page) => {
      const small = await page.evaluate<string[]>(`[...document.querySelectorAll('button, input, textarea, summary')]
        .filter((each) => each.checkVisibility() && !each.matches('[type=radio], [type=checkbox]'))
        .filter((each) => {
          // What is out of sight has no size before it is gone to.
          each.scrollIntoView();
          const { width, height } = each.getBoundingClientRect();
          return width < 24 || height < 24;
        })
        .map((each) => each.outerHTML.slice(0, 120))`);
      expect([name, small]).toEqual([name, []]);
    });
  });

  test('C-074: in forced colours every mark is drawn, and nothing moves for those who ask for that', async () => {
    await using opened = await gallery.open(scenes.working, { forcedColors: 'active' });
    const moving = 'document.getAnimations().length';
    expect(await opened.page.evaluate(moving)).toBe(0);
    const strokes = await opened.page.evaluate<string[]>(
      `[...document.querySelectorAll('.icon')].map((each) => getComputedStyle(each).stroke)`,
    );
    expect(strokes.filter((stroke) => stroke === 'none' || stroke === 'transparent')).toEqual([]);
    await using lively = await gallery.open(scenes.working, { reducedMotion: 'no-preference' });
    expect(await lively.page.evaluate(moving)).toBe(1);
  });

  test('C-004, C-090 (10, 11): texts that attack are text, wherever they stand', async () => {
    await using opened = await gallery.open(scenes.empty);
    const { page } = opened;
    await page.evaluate(`globalThis.alerts = []; globalThis.alert = (text) => alerts.push(text)`);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    for (let from = 0; from < attackTexts.length; from += 8) {
      await opened.show(attackScene(attackTexts.slice(from, from + 8)));
      const open = '[role=log] [aria-expanded=false], .todo-toggle, .files-button[aria-expanded=false]';
      for (let level = 0; level < 2; level++) {
        await page.evaluate(`document.querySelectorAll('${open}').forEach((each) => each.click())`);
        await settled(page);
      }
    }
    const foreign = `[...document.querySelectorAll('script, iframe, object, embed, link, style, base, video, audio, [onerror], [onload]')]
      .filter((each) => each.closest('body') !== null).map((each) => each.outerHTML)`;
    expect(await page.evaluate(foreign)).toEqual([]);
    const own = new URL(page.url()).host;
    const foreignRequests = requests.filter((url) => new URL(url).host !== own);
    expect([await page.evaluate('alerts'), foreignRequests, opened.errors]).toEqual([[], [], []]);
  }, 60_000);
});
