// The console as somebody meets it who has never seen it, over a real server: files in and out by every way that there is, a
// link, a title, a task at rest.

import { expect, test, vi } from 'vitest';
import { button, ends, expectAccessible, finished, log, message, sees, send } from './support/console-steps.ts';
import { call, hold, reply, say, text } from './support/model.ts';
import { connect } from '../src/client/index.ts';
import { describeInChromium } from './support/chromium.ts';
import { key } from './support/uhp.ts';
import { openConsoleBench } from './support/console-bench.ts';
import { join } from 'node:path';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { temporaryFolder } from './support/folders.ts';
import type { Locator, Page } from 'playwright-core';

const write = (id: string, path: string, content: string) => call(id, 'write_file', { path, content });
const replies = {
  ask: [reply(call('c1', 'bash', { command: 'echo one' })), say('Asked.')],
  make: [reply(write('w1', 'notes/one.md', '# One\n'), write('w2', 'two.csv', 'a,b\n1,2\n')), say('Made.')],
  rest: [reply(text('Looking '), hold, call('l', 'list_files', {})), say('Rested.')],
};

/** What a browser hands over when files are dropped, or pasted. */
const handOver = (page: Page, how: 'drop' | 'paste', name: string) =>
  page.evaluate(`(() => {
    const data = new DataTransfer();
    data.items.add(new File(['from ${how}'], '${name}', { type: 'text/plain' }));
    const told = { bubbles: true, cancelable: true };
    if ('${how}' === 'paste')
      return document.getElementById('message').dispatchEvent(new ClipboardEvent('paste', { ...told, clipboardData: data }));
    for (const type of ['dragover', 'drop'])
      document.querySelector('[role=log]').dispatchEvent(new DragEvent(type, { ...told, dataTransfer: data }));
  })()`);

const refusal = {
  error: { type: 'invalid_request_error', code: 'file_too_large', message: 'This file is too large.' },
};

const saved = async (page: Page, press: () => Promise<void>) => {
  const [download] = await Promise.all([page.waitForEvent('download'), press()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
};

describeInChromium('a newcomer at the console', (browser) => {
  const bench = openConsoleBench(browser, { replies, settings: { approvals: { toolPermissions: { bash: 'ask' } } } });

  test('files come in by the clip, by dropping and by pasting, and the agent has them', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    const attached = page.getByRole('list', { name: 'Attached files' }).getByRole('listitem');
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, 'Attach files').click()]);
    await chooser.setFiles({ name: 'chosen.txt', mimeType: 'text/plain', buffer: Buffer.from('from choice') });
    await handOver(page, 'drop', 'dropped.txt');
    await handOver(page, 'paste', 'pasted.txt');
    await expect.poll(() => attached.count()).toBe(3);
    await attached.getByText('Uploading…').first().waitFor({ state: 'detached' });
    await button(page, 'Remove dropped.txt').click();
    await expectAccessible(page);
    // Files alone are no message.
    await button(page, 'Send').click();
    await page.getByText('Say what is to be done with the files.').first().waitFor();
    expect(await page.getByRole('log').getByText('The message is empty.').count()).toBe(0);
    await send(page, 'look at these');
    await ends(page, 1, finished);
    const told = JSON.stringify(bench.model.server.requests.at(-1)?.body);
    for (const content of ['from choice', 'from paste']) expect(told).toContain(content);
    expect(told).not.toContain('from drop');
    await expect.poll(() => attached.count()).toBe(0);
    await opened.expectNoProblems();
  });

  test('a real folder that is dropped is refused in a sentence, a real file is taken; one that failed is not lost unnoticed', async () => {
    await using opened = await bench.open();
    const { page, context } = opened;
    const devtools = await context.newCDPSession(page);
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'reports'));
    writeFileSync(join(folder, 'real.txt'), 'from disk');
    // A browser under load may let go of a drag before the page has said that it takes it.
    const drop = (name: string, seen: Locator) =>
      vi.waitFor(
        async () => {
          const data = { items: [], files: [join(folder, name)], dragOperationsMask: 1 };
          for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
            await devtools.send('Input.dispatchDragEvent', { type, x: 600, y: 300, data });
          await seen.first().waitFor({ timeout: 2_000 });
        },
        { timeout: 25_000 },
      );
    await message(page).waitFor();
    await drop('reports', page.getByText('reports is a folder: attach its files, or a zip of it.'));
    const attached = page.getByRole('list', { name: 'Attached files' }).getByRole('listitem');
    await drop('real.txt', attached.getByText('real.txt'));
    await page.route('**/v1/files', (route) => route.fulfill({ status: 413, json: refusal }));
    await handOver(page, 'drop', 'huge.bin');
    await attached.getByText('This file is too large.').waitFor();
    await send(page, 'take them');
    await page.getByText('huge.bin did not reach the server').first().waitFor();
    expect(await message(page).inputValue()).toBe('take them');
    await button(page, 'Remove huge.bin').click();
    await page.keyboard.press('Escape');
    await message(page).press('Enter');
    await ends(page, 1, finished);
    expect(JSON.stringify(bench.model.server.requests.at(-1)?.body)).toContain('from disk');
    await opened.expectNoProblems(/status of 413/);
  });

  test('C-053: what a task made is seen, taken one by one, and all as a zip', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await send(page, 'make');
    await ends(page, 1, finished);
    await button(page, 'Files 2').click();
    await page.getByRole('button', { name: /^notes\/one\.md/ }).click();
    await page.getByRole('dialog').getByText('# One').waitFor();
    await page.keyboard.press('Escape');
    const one = await saved(page, () => button(page, 'Download two.csv').click());
    expect([one.name, one.bytes.toString()]).toEqual(['two.csv', 'a,b\n1,2\n']);
    const all = await saved(page, () => button(page, 'Download all').click());
    expect(all.name).toMatch(/\.zip$/);
    for (const name of ['notes/one.md', 'two.csv']) expect(all.bytes.includes(name)).toBe(true);
    await opened.expectNoProblems();
  });

  test('after Allow once the place is named by what was decided, and its outcome is said', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await message(page).waitFor();
    await page.evaluate(`globalThis.said = []; new MutationObserver(() =>
      said.push(document.querySelector('[role=status]').textContent || document.querySelector('.spoken [role=alert]').textContent),
    ).observe(document.querySelector('.page > .spoken'), { subtree: true, childList: true, characterData: true })`);
    await send(page, 'ask');
    await page.getByRole('region', { name: 'Approval needed: bash' }).waitFor();
    await button(page, 'Allow once').click();
    await page.getByRole('region', { name: 'Allowed once by owner: bash' }).waitFor();
    await ends(page, 1, finished);
    expect(await page.getByRole('region', { name: /Approval needed/ }).count()).toBe(0);
    const said = await page.evaluate<readonly string[]>('said');
    expect(said.filter((each) => /bash/.test(each))).toEqual([
      'bash waits for your decision',
      'bash: Allowed once by owner',
    ]);
    // C-020: what the call was made with stays to be read, and a reload changes nothing.
    const told = page.locator('.tool-now').getByText('bash echo one');
    await told.waitFor();
    await page.reload();
    await told.waitFor();
    await page.getByRole('region', { name: 'Allowed once by owner: bash' }).getByText('bash echo one').waitFor();
    await opened.expectNoProblems();
  });

  test('a session is shared and shared no more without a fault in the browser’s console; its title is kept by the server', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await send(page, 'hello');
    await ends(page, 1, finished);
    await button(page, 'Share').click();
    await button(page, 'Create a link').click();
    const link = await page.getByRole('textbox', { name: 'Link' }).inputValue();
    expect((await fetch(link)).status).toBe(200);
    await page.keyboard.press('Escape');
    await button(page, 'Share').click();
    await expect.poll(() => page.getByRole('textbox', { name: 'Link' }).inputValue()).toBe(link);
    await button(page, 'Stop sharing').click();
    await button(page, 'Create a link').waitFor();
    await page.keyboard.press('Escape');

    await button(page, 'Rename').click();
    await page.getByRole('textbox', { name: 'Title' }).fill('The hall');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'The hall' }).waitFor();
    await opened.expectNoProblems();
    await using elsewhere = await bench.open(new URL(page.url()).pathname);
    await elsewhere.page.getByRole('heading', { name: 'The hall' }).waitFor();
    await elsewhere.page.getByRole('navigation').getByText('The hall').waitFor();
  });

  test('C-031: a task that was let come to rest says so and goes on by a button', async () => {
    const client = connect(bench.server.url, key);
    const { id } = await client.responses.create({ input: 'rest' }, { idempotencyKey: 'rest' });
    await expect.poll(() => bench.model.asked('rest').length).toBe(1);
    const { metadata } = await client.responses.pause(id);
    bench.gate.open();
    const { session_id: session } = metadata;
    if (typeof session !== 'string') throw new Error('It has no session.');
    await expect.poll(async () => (await client.sessions.get(session)).reins_paused).toBe(true);
    await using opened = await bench.open(`/s/${session}`);
    const { page } = opened;
    await sees(page, 'Looking');
    await page.locator('.status').getByText('Paused').waitFor();
    await page.getByRole('navigation').getByText('Paused').waitFor();
    await expectAccessible(page);
    await button(page, 'Resume').click();
    await ends(page, 1, finished);
    await log(page).getByText('Rested.').waitFor();
    await message(page).waitFor();
    await opened.expectNoProblems();
  });
});
