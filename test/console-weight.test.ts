// What the page weighs, what it does without a part of it, and what never reaches it (C-080, C-081, C-090 item 16).

import { call, reply, say, startModel, text } from './support/model.ts';
import { describeInChromium } from './support/chromium.ts';
import { ends, finished, log, message, sees, send } from './support/console-steps.ts';
import { ensureConsoleBuilt } from './support/console-build.ts';
import { expect, test } from 'vitest';
import { gzipSync } from 'node:zlib';
import { key } from './support/uhp.ts';
import { openConsolePage, startConsoleServer } from './support/console-page.ts';
import { readFileSync, readdirSync } from 'node:fs';
import { root } from './reins-process.ts';

const folder = `${root}dist/console`;

test('C-080, C-081: what has to be there before the page is drawn is at most 130 kB of script, compressed; the rest comes after it', async () => {
  await ensureConsoleBuilt();
  const page = readFileSync(`${folder}/index.html`, 'utf8');
  const first = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+\.js)"/g)].map(([, name = '']) => name);
  const bytes = first.map((name) => gzipSync(readFileSync(`${folder}/${name}`), { level: 9 }).length);
  expect(bytes.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(130_000);
  const later = readdirSync(`${folder}/assets`).filter(
    (name) => name.endsWith('.js') && !first.includes(`assets/${name}`),
  );
  expect(later.map((name) => name.replace(/-[\w-]{8}\.js$/, '')).toSorted()).toEqual([
    'create-markdown-view',
    'dialogs',
    'highlighter',
  ]);
});

const large = [
  reply(text('I print. '), call('c1', 'bash', { command: 'head -c 5000000 /dev/zero | tr "\\0" x' })),
  say('It was **long**.'),
];

describeInChromium('the page', (browser) => {
  test('C-081: of an output of 5 MB the page gets what it can show', async () => {
    await using model = await startModel((asked) => (asked === 'print' ? large : undefined));
    await using server = await startConsoleServer({ model });
    await using opened = await openConsolePage(await browser(), { server });
    const { page } = opened;
    await message(page).waitFor();
    const session = await opened.context.newCDPSession(page);
    await session.send('Network.enable');
    let received = 0;
    session.on('Network.dataReceived', ({ dataLength }) => (received += dataLength));
    await send(page, 'print');
    await ends(page, 1, finished);
    await log(page).locator('.tool-toggle').click();
    await log(page).locator('.call-line').click();
    await log(page)
      .getByRole('button', { name: /^Show all/ })
      .click();
    const shown = await page.evaluate<number>(
      `[...document.querySelectorAll('.long-text pre')].at(-1).textContent.length`,
    );
    expect(shown).toBeGreaterThan(1_000);
    expect(shown).toBeLessThanOrEqual(100_000);
    expect(received).toBeLessThan(1_000_000);
    await page.reload();
    await sees(page, 'It was long.');
    expect(received).toBeLessThan(3_000_000);
    await opened.expectNoProblems();
  }, 60_000);

  test('C-090 (16): without what reads markdown, and without the dialogs, the page works; what could not be had is asked for again', async () => {
    await using model = await startModel(() => [say('It is **so**.\n\n- one')]);
    await using server = await startConsoleServer({ model });
    await using opened = await openConsolePage(await browser(), { server, key: null });
    const { page, context } = opened;
    const later = /\/(?:create-markdown-view|dialogs)-/;
    await context.route(later, (route) => route.abort());
    await context.request.post(`${server.url}/v1/reins/console/session`, {
      headers: { Origin: server.url },
      data: { key },
    });
    await page.reload();
    await send(page, 'hello');
    await ends(page, 1, finished);
    expect(await log(page).locator('.row-assistant').textContent()).toBe('It is **so**.\n\n- one');
    await page.getByRole('button', { name: 'Settings and keys' }).click();
    await page.getByText('This part of the page could not be loaded.', { exact: false }).first().waitFor();
    await context.unroute(later);
    await page.reload();
    await log(page).locator('.row-assistant strong').waitFor();
    await page.getByRole('button', { name: 'Settings and keys' }).click();
    await page.getByRole('dialog', { name: 'Settings' }).waitFor();
    await opened.expectNoProblems(/ERR_FAILED|create-markdown-view|dialogs-/);
  }, 60_000);
});
