// The console's transcript in a real browser while it grows: what it says aloud, where its reader stays (C-072, C-075), and what
// an update of a long one touches.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildGallery, settled, type Gallery } from './support/console-gallery.ts';
import { describeInChromium } from './support/chromium.ts';
import { event } from '../src/console/state/rig.ts';
import { longScene, scenes, type Scene } from './support/console-scenes.ts';
import type { Page } from 'playwright-core';

const gapToEnd = (page: Page) =>
  page.evaluate<number>(
    '(({ scrollHeight, clientHeight, scrollTop }) => scrollHeight - clientHeight - scrollTop)(document.querySelector("[role=log]"))',
  );

describeInChromium('a transcript that grows', (browser) => {
  let gallery: Gallery;
  beforeAll(async () => void (gallery = await buildGallery(await browser())), 120_000);
  afterAll(() => gallery[Symbol.asyncDispose]());

  test('C-072: the log is silent, the status region speaks at boundaries only', async () => {
    await using opened = await gallery.open(scenes.working);
    const { page } = opened;
    expect(await page.getByRole('log').getAttribute('aria-live')).toBe('off');
    expect(await page.getByRole('log').getAttribute('aria-busy')).toBe('true');
    await page.evaluate(`globalThis.spoken = [];
      new MutationObserver(() => spoken.push(document.querySelector('[role=status]').textContent))
        .observe(document.querySelector('[role=status]'), { subtree: true, characterData: true, childList: true });`);
    const cursor = await page.evaluate<number>('gallery.getState().phase.turn.cursor');
    await opened.play(deltas(300, cursor));
    await opened.play(ended(cursor + 301));
    await expect.poll(() => page.evaluate('spoken')).toEqual(['Turn ended · model finished']);
  });

  test('C-075: the end is kept while it grows, and a reader 500 px up is not moved', async () => {
    await using opened = await gallery.open([...longScene(20), ...more]);
    const { page } = opened;
    expect(await gapToEnd(page)).toBeLessThanOrEqual(1);
    for (let from = 0; from < 100; from += 20) {
      await opened.play(deltas(20, from));
      expect(await gapToEnd(page)).toBeLessThanOrEqual(1);
    }
    await page.getByRole('log').hover();
    await page.mouse.wheel(0, -500);
    await page.getByRole('button', { name: 'Jump to latest' }).waitFor();
    const top = () => page.evaluate<number>('document.querySelector("[role=log]").scrollTop');
    await settled(page);
    const before = await top();
    for (let from = 100; from < 400; from += 60) await opened.play(deltas(60, from));
    expect(await top()).toBe(before);
    expect(await gapToEnd(page)).toBeGreaterThan(400);
    await page.getByRole('button', { name: 'Jump to latest' }).click();
    await settled(page);
    expect(await gapToEnd(page)).toBeLessThanOrEqual(1);
  });

  test('C-038: what is loaded before moves nobody who reads', async () => {
    await using opened = await gallery.open(longScene(30));
    const { page } = opened;
    await page.getByRole('button', { name: 'Load earlier' }).click();
    const place = () =>
      page.evaluate<number>(`[...document.querySelectorAll('.user-text')]
        .find((each) => each.textContent === 'Question 0').getBoundingClientRect().top`);
    const before = await place();
    const [, asked] = longScene(25, 'resp_e').flatMap((each) => (each.type === 'session_loaded' ? [each, each] : []));
    if (asked?.type !== 'session_loaded') throw new Error('The scene loads no session.');
    await opened.play([{ type: 'earlier_loaded', turns: asked.turns, more: false, atMs: asked.atMs }]);
    expect(await page.getByText('Question 0').count()).toBe(2);
    const now = await page.evaluate<number>(`[...document.querySelectorAll('.user-text')]
      .filter((each) => each.textContent === 'Question 0')[1].getBoundingClientRect().top`);
    expect(Math.abs(now - before)).toBeLessThanOrEqual(2);
  });

  test('B148, C-095: with 2,046 rows above it, an answer in 2,000 pieces changes its own end and nothing else', async () => {
    await using opened = await gallery.open([...longScene(682), ...more]);
    const { page } = opened;
    expect(await page.getByRole('log').locator('.row').count()).toBeGreaterThan(2_000);
    // What is out of sight is neither laid out nor looked at, but stands there to be found.
    const drawn = `[...document.querySelectorAll('.row')].filter((row) => row.checkVisibility({ contentVisibilityAuto: true })).length`;
    expect(await page.evaluate(drawn)).toBeLessThan(150);
    await opened.play(deltas(100));
    await page.evaluate(`globalThis.changed = { elsewhere: 0, blocks: 0 };
      globalThis.answer = [...document.querySelectorAll('.row-assistant')].at(-1);
      globalThis.first = [...answer.querySelectorAll('.markdown > * > *')].slice(0, 90);
      new MutationObserver((records) => {
        for (const { target } of records) {
          if (!answer.contains(target)) changed.elsewhere++;
          else if (first.some((each) => each.contains(target))) changed.blocks++;
        }
      }).observe(document.querySelector('.transcript-rows'), { subtree: true, childList: true, characterData: true });`);
    for (let from = 100; from < 2_100; from += 40) await opened.play(deltas(40, from));
    expect(await page.evaluate('changed')).toEqual({ elsewhere: 0, blocks: 0 });
    expect(await page.evaluate('first.every((each) => each.isConnected)')).toBe(true);
    expect(await gapToEnd(page)).toBeLessThanOrEqual(1);
  }, 60_000);
});

/** A turn in the long session. */
const startMs = Date.UTC(2026, 5, 1);
const more: Scene = [
  { type: 'draft_changed', draft: 'Go on.', atMs: startMs },
  { type: 'submit', id: 'm1', atMs: startMs },
  { type: 'sent', turn: 'm1', atMs: startMs },
  told(0, { type: 'created', responseId: 'resp_1', sessionId: 'hsess_3', model: 'm' }),
];

function told(number: number, ...events: Parameters<typeof Object.freeze>[0][]): Scene[number] {
  return {
    type: 'received',
    turn: 'm1',
    from: { kind: 'task', responseId: 'resp_1', number },
    events,
    atMs: startMs + number,
  } as Scene[number];
}

/** Of growing text. @param from  Number of the last event. */
function deltas(count: number, from = 0): Scene {
  const first = from + 1;
  return Array.from({ length: count }, (_, at) =>
    told(first + at, event.text(`word ${at} and more words, on and on.\n\n`, 9)),
  );
}

function ended(number: number): Scene {
  return [told(number, event.done())];
}
