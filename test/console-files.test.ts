// Files that a task has made, in a real browser: saved under a harmless name, shown as what they are, never run (C-053, C-090
// item 17).

import { crc32, deflateSync } from 'node:zlib';
import { describeInChromium } from './support/chromium.ts';
import { call, reply, say, startModel } from './support/model.ts';
import { ends, expectAccessible, finished, message, send } from './support/console-steps.ts';
import { expect, test } from 'vitest';
import { openConsolePage, startConsoleServer } from './support/console-page.ts';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

/** Black, one bit a pixel: small, however large it is drawn. */
function png(width: number, height: number): string {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.writeUInt8(1, 8);
  const rows = deflateSync(Buffer.alloc(height * (Math.ceil(width / 8) + 1)), { level: 9 });
  const parts = [chunk('IHDR', head), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...parts]).toString('base64');
}

const hostile = '<img src=x onerror=alert(1)>.html';
const script = '<script>window.ran = true</script><h1>Heading</h1>';
const make = [
  `printf %s '${png(32, 32)}' | base64 -d > small.png`,
  `printf %s '${png(6_000, 6_000)}' | base64 -d > large.png`,
  'head -c 300000 /dev/zero | tr "\\0" x > long.txt',
].join('\n');
const files = [
  reply(call('c1', 'bash', { command: make }), call('c2', 'write_file', { path: hostile, content: script })),
  say('Made.'),
];

const preview = async (page: Page, name: string) => {
  await page.getByRole('button', { name: new RegExp(`^(?!Download|\\d+ tool).*${name}`) }).click();
  return page.getByRole('dialog', { name });
};

describeInChromium('C-053, C-090 item 17: files', (browser) => {
  test('a picture is shown, one that is too large is not, a page is text, a long text is cut; names are made harmless', async () => {
    await using model = await startModel((asked) => (asked === 'make' ? files : undefined));
    await using server = await startConsoleServer({ model });
    await using opened = await openConsolePage(await browser(), { server });
    const { page } = opened;
    await send(page, 'make');
    await ends(page, 1, finished);
    await page.getByRole('button', { name: 'Files 4' }).click();

    const small = await preview(page, 'small.png');
    await small.getByRole('img', { name: 'small.png' }).waitFor();
    await expect
      .poll(() => page.evaluate(`document.querySelector('dialog img, [role=dialog] img')?.naturalWidth`))
      .toBe(32);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    const large = await preview(page, 'large.png');
    await large.getByText('This picture is too large to be shown here.').waitFor();
    await page.keyboard.press('Escape');
    const html = await preview(page, 'onerror=alert');
    expect(await html.locator('pre').textContent()).toBe(script);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      html.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('_img src=x onerror=alert(1)_.html');
    expect(readFileSync(await download.path(), 'utf8')).toBe(script);
    await page.keyboard.press('Escape');
    const long = await preview(page, 'long.txt');
    await long.getByText('This is its beginning').waitFor();
    expect((await long.locator('pre').textContent())?.length).toBe(100_000);
    await page.keyboard.press('Escape');

    const [zip] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download all' }).click(),
    ]);
    // By the title of the session.
    expect(zip.suggestedFilename()).toMatch(/^(?!hsess).+\.zip$/);
    expect(
      readFileSync(await zip.path())
        .subarray(0, 2)
        .toString(),
    ).toBe('PK');
    expect(await page.evaluate('window.ran')).toBe(undefined);
    await opened.expectNoProblems();
  }, 60_000);

  test('C-061: a picture that the agent made stands in its answer, from memory; what it names of its files opens here', async () => {
    const made = [
      reply(
        call('c1', 'bash', { command: `printf %s '${png(32, 32)}' | base64 -d > plot.png` }),
        call('c2', 'write_file', { path: 'out/report.md', content: '# Report' }),
      ),
      say('![A plot](plot.png) and ![none](none.png), in [the report](out/report.md).'),
    ];
    await using model = await startModel((asked) => (asked === 'plot' ? made : undefined));
    await using server = await startConsoleServer({ model });
    await using opened = await openConsolePage(await browser(), { server });
    const { page } = opened;
    await send(page, 'plot');
    await ends(page, 1, finished);
    const picture = page.getByRole('img', { name: 'A plot' });
    await picture.waitFor();
    expect(await picture.getAttribute('src')).toMatch(/^blob:/);
    await page.getByText('[image: none]').waitFor();
    await page.reload();
    await picture.waitFor();
    await picture.click();
    await page.getByRole('dialog', { name: 'plot.png' }).getByRole('img').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'the report' }).click();
    await page.getByRole('dialog', { name: 'out/report.md' }).getByText('# Report').waitFor();
    expect(opened.context.pages()).toHaveLength(1);
    await opened.expectNoProblems();
  });

  test('C-047: a file that is chosen goes along with the message; a long text that is pasted is offered as one', async () => {
    await using model = await startModel(() => undefined);
    await using server = await startConsoleServer({ model });
    await using opened = await openConsolePage(await browser(), {
      server,
      context: { permissions: ['clipboard-read', 'clipboard-write'] },
    });
    const { page } = opened;
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Attach files' }).click(),
    ]);
    await chooser.setFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello notes') });
    await message(page).focus();
    await page.evaluate(`navigator.clipboard.writeText('pasted '.repeat(10_000))`);
    await page.keyboard.press('Control+v');
    await page.getByRole('button', { name: 'Attach as a file' }).click();
    const attached = page.getByRole('list', { name: 'Attached files' });
    await expect.poll(() => attached.getByRole('listitem').count()).toBe(2);
    await expect.poll(() => attached.getByText('Uploading').count()).toBe(0);
    await send(page, 'read them');
    await ends(page, 1, finished);
    const asked = JSON.stringify(model.server.requests[0]?.body);
    expect([asked.includes('hello notes'), asked.includes('pasted-text.txt')]).toEqual([true, true]);
    await opened.expectNoProblems();
  });
});
