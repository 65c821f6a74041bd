// The console's panels in a real browser (C-070 to C-075): what each state looks like to a person, whatever brought it about.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildGallery, type Gallery } from './support/console-gallery.ts';
import { describeInChromium } from './support/chromium.ts';
import { expectAccessible } from './support/console-steps.ts';
import { longScene, scenes, type Scene } from './support/console-scenes.ts';
import type { Page } from 'playwright-core';

const composer = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
/** The name of what has the focus. */
const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.ariaLabel ?? document.activeElement.textContent');
describeInChromium('the panels', (browser) => {
  let gallery: Gallery;
  beforeAll(async () => void (gallery = await buildGallery(await browser())), 120_000);
  afterAll(() => gallery[Symbol.asyncDispose]());

  test('C-032, C-070: one element sends, stops and queues, and keeps the focus', async () => {
    await using opened = await gallery.open(scenes.empty);
    const { page } = opened;
    await composer(page).fill('hello');
    const button = page.getByRole('button', { name: 'Send', exact: true });
    await page.evaluate('globalThis.button = document.querySelector(".send-button")');
    const isSame = () => page.evaluate<boolean>('globalThis.button === document.activeElement');
    await button.focus();
    await page.keyboard.press('Enter');
    expect(await opened.effects('send')).toMatchObject([{ text: 'hello' }]);
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    expect([await isSame(), await focused(page)]).toEqual([true, 'Stop']);
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText('Turn ended · you stopped').waitFor();
    expect([await isSame(), await focused(page)]).toEqual([true, 'Send']);
  });

  test('C-070: Enter sends, Shift+Enter makes a line, a setting swaps them, and Ctrl+Enter always sends', async () => {
    await using opened = await gallery.open(scenes.empty);
    const { page } = opened;
    await composer(page).pressSequentially('a');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('b');
    await page.keyboard.press('Enter');
    expect(await opened.effects('send')).toMatchObject([{ text: 'a\nb' }]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Settings and keys' }).click();
    await page.getByLabel('Makes a line; Shift+Enter sends').check();
    await page.keyboard.press('Escape');
    await composer(page).pressSequentially('c');
    await page.keyboard.press('Enter');
    await page.keyboard.type('d');
    expect(await opened.effects('send')).toHaveLength(1);
    await page.keyboard.press('Control+Enter');
    expect(await opened.effects('send')).toMatchObject([{}, { text: 'c\nd' }]);
  });

  test('C-071: no key acts while an input method composes', async () => {
    await using opened = await gallery.open(scenes.working);
    const { page } = opened;
    await composer(page).fill('か');
    for (const key of ['Enter', 'Escape', 'ArrowUp'])
      for (const guard of [{ isComposing: true }, { keyCode: 229 }])
        await composer(page).dispatchEvent('keydown', { key, bubbles: true, cancelable: true, ...guard });
    expect([await opened.effects('steer'), await opened.effects('cancel')]).toEqual([[], []]);
    await expect(composer(page).inputValue()).resolves.toBe('か');
  });

  test('C-045: what waits can be changed and taken back, and ↑ brings the last one into the message', async () => {
    await using opened = await gallery.open(scenes.queued);
    const { page } = opened;
    const waiting = page.getByRole('list', { name: 'Messages that wait' });
    await waiting.getByRole('button', { name: 'Edit message' }).first().click();
    await page.getByRole('textbox', { name: 'Message that waits' }).fill('Look at the monthly import.');
    await page.keyboard.press('Enter');
    await waiting.getByText('Look at the monthly import.').waitFor();
    await waiting.getByRole('button', { name: 'Edit message' }).first().click();
    await page.keyboard.press('Escape');
    expect(await opened.effects('cancel')).toEqual([]);
    await composer(page).fill('');
    await page.keyboard.press('ArrowUp');
    await expect(composer(page).inputValue()).resolves.toBe('And keep the test in one file.');
    await waiting.getByRole('button', { name: 'Remove message' }).click();
    await waiting.waitFor({ state: 'detached' });
  });

  test('C-047: a long text that is pasted is offered as a file, and nothing of it is lost', async () => {
    await using opened = await gallery.open(scenes.empty);
    const { page } = opened;
    const paste = (text: string) =>
      page.evaluate(`(() => {
        const clipboardData = new DataTransfer();
        clipboardData.setData('text/plain', '${text}');
        const told = { clipboardData, bubbles: true, cancelable: true };
        document.getElementById('message').dispatchEvent(new ClipboardEvent('paste', told));
      })()`);
    await paste('y'.repeat(40_000));
    await page.getByRole('button', { name: 'Insert' }).click();
    expect(await composer(page).inputValue()).toHaveLength(40_000);
    await paste('y'.repeat(262_000));
    expect(await page.getByRole('button', { name: 'Insert' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Attach as a file' }).click();
    await page.getByRole('list', { name: 'Attached files' }).getByText('pasted-text.txt').waitFor();
    await using long = await gallery.open(scenes.long);
    await long.page.getByText('262,200 of 262,144 bytes').waitFor();
  });

  test('C-050: Enter alone decides nothing; a rule says what it is; the focus goes on to the next decision', async () => {
    await using opened = await gallery.open(scenes.questions);
    const { page } = opened;
    expect(await focused(page)).toBe('Message');
    const card = page.getByRole('region', { name: 'Approval needed: bash' });
    await card.getByRole('textbox', { name: /Reason/ }).focus();
    await page.keyboard.press('Enter');
    expect(await opened.effects('decide')).toEqual([]);
    await card.getByRole('textbox', { name: /Reason/ }).fill('Not on this machine.');
    await card.getByRole('button', { name: 'Always allow…' }).click();
    await card.getByRole('button', { name: 'Always allow bash with any arguments in this session' }).waitFor();
    await page.keyboard.press('Escape');
    expect([await focused(page), await card.getByRole('list').count()]).toEqual(['Always allow…', 0]);
    await card.getByRole('textbox', { name: /Reason/ }).press('Enter');
    expect(await opened.effects('decide')).toMatchObject([
      { body: { decision: 'deny', note: 'Not on this machine.', arguments_digest: 'sha256:1' } },
    ]);
    const { body: _body, ...effect } = (await opened.effects('decide'))[0] ?? {};
    expect(effect).toMatchObject({ approvalId: 'appr_1', verb: 'decide' });
    const approval = await page.evaluate<object>('gallery.getState().approvals[0].approval');
    const decision = { decision: 'deny', by: 'owner', at: 1, note: null, rule_id: null };
    await opened.play([
      { type: 'decided', approval: { ...approval, status: 'denied', decision }, atMs: 0 } as Scene[number],
    ]);
    await page.getByRole('region', { name: 'Denied by owner: bash' }).waitFor();
    // The outcome is said once, and no alert stands any more that it is awaited.
    expect(await page.getByRole('status').textContent()).toBe('bash: Denied by owner');
    expect(await page.getByRole('alert').textContent()).toBe('');
    await expect.poll(() => focused(page)).toBe('The agent asks: ask_user');
    await page.keyboard.press('Enter');
    expect(await opened.effects('decide')).toHaveLength(1);
  });

  test('UR-13: Enter in the last answer answers, once all are given', async () => {
    await using opened = await gallery.open(scenes.questions);
    const { page } = opened;
    const other = page.getByRole('textbox', { name: 'Other answer' });
    await other.press('Enter');
    expect(await opened.effects('decide')).toEqual([]);
    await other.fill('Neither.');
    await other.press('Enter');
    expect(await opened.effects('decide')).toMatchObject([
      { verb: 'answer', body: { answers: [{ id: 'q1', text: 'Neither.' }] } },
    ]);
  });

  test('UR-13, UR-14: a question and a call of unknown outcome are answered in place', async () => {
    await using opened = await gallery.open(scenes.questions);
    const { page } = opened;
    await page.getByLabel('The old one (02:00)').check();
    await page.getByRole('button', { name: 'Answer', exact: true }).click();
    await page.getByLabel('What the call gave, if you know').fill('deployed');
    await page.getByRole('button', { name: 'Go on with this result' }).click();
    expect(await opened.effects('decide')).toMatchObject([
      { verb: 'answer', body: { answers: [{ id: 'q1', selected: ['The old one (02:00)'] }] } },
      { verb: 'resolve', body: { action: 'result', output: 'deployed' } },
    ]);
  });

  test('C-020, C-025: cards open call by call, and what is not opened is not there; thinking stays open while it goes on', async () => {
    await using opened = await gallery.open(scenes.working);
    const { page } = opened;
    const log = page.getByRole('log');
    const thinking = log.getByRole('button', { name: 'Thinking', exact: true });
    await thinking.click({ force: true });
    expect(await thinking.getAttribute('aria-expanded')).toBe('true');
    const header = log.getByRole('button', { name: /^4 tools called/ });
    expect(await header.textContent()).toBe(
      '4 tools called✓ 2 ok✗ 1 failed… 1 pendingbash docker compose up -d postgres npm test -- import',
    );
    await header.click();
    const call = log.getByRole('button', { name: /^read_file/ });
    expect(await log.getByText('row12').count()).toBe(0);
    await call.click();
    await log.getByText('row12').waitFor();
    expect(await log.getByText('row55').count()).toBe(0);
    await log.getByRole('button', { name: /^Show all/ }).click();
    await log.getByText('row55').waitFor();
  });

  test('C-020: a call tells in its line what it was made with, and all of that when it is opened', async () => {
    await using opened = await gallery.open(scenes.working);
    const log = opened.page.getByRole('log');
    await log.getByRole('button', { name: /^4 tools called/ }).click();
    const call = log.getByRole('listitem').filter({ hasText: 'npm test -- import' }).first();
    expect(await call.locator('.call-asked').textContent()).toBe('npm test -- import');
    expect(await call.getByText('timeout').count()).toBe(0);
    await call.getByRole('button').first().click();
    expect(await call.locator('dt').allTextContents()).toEqual(['command', 'timeout']);
    await expectAccessible(opened.page);
  });

  test('C-073: what is put away gives the focus on, never to the page', async () => {
    await using opened = await gallery.open(scenes.finished);
    const { page } = opened;
    for (const key of ['Enter', 'Escape']) {
      await page.getByRole('button', { name: 'Rename', exact: true }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('textbox', { name: 'Title' }).press(key);
      await expect.poll(() => focused(page)).toBe('Rename');
    }
    const item = page.getByRole('button', { name: /^Draft the release notes/ });
    await page.getByRole('button', { name: 'Rename Draft the release notes for 2.4' }).press('Enter');
    await page.getByRole('textbox', { name: 'Title' }).press('Escape');
    await expect.poll(() => focused(page)).toBe(await item.textContent());
    await opened.play([{ type: 'failed', id: 'x', message: 'No.', atMs: 0 }]);
    await page.getByRole('button', { name: 'Dismiss' }).press('Enter');
    expect(await focused(page)).toBe('Message');
    await item.focus();
    await opened.play([{ type: 'session_deleted', sessionId: 'hsess_3', atMs: 0 }]);
    expect(await page.evaluate('document.activeElement.className')).toBe('session-open');
  });

  test('C-070: Escape closes the files and clears the search; Ctrl+K takes what was searched for', async () => {
    await using opened = await gallery.open(scenes.finished);
    const { page } = opened;
    const files = page.getByRole('complementary', { name: 'Files' });
    await page.getByRole('button', { name: 'Files 3' }).press('Enter');
    await files.waitFor();
    expect(await page.evaluate('document.activeElement.className')).toBe('files-panel');
    await page.keyboard.press('Escape');
    await files.waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('Files 3');
    const search = page.getByRole('searchbox');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('notes');
    await page.keyboard.press('Control+k');
    expect(await page.evaluate('getSelection().toString()')).toBe('notes');
    await page.keyboard.press('Escape');
    expect(await search.inputValue()).toBe('');
    await search.fill('notes');
    await page.getByRole('button', { name: 'New session' }).click();
    expect(await search.inputValue()).toBe('');
  });

  test('C-054: the list is gone through by arrows, searched, and emptied only when it was confirmed', async () => {
    await using opened = await gallery.open(scenes.finished);
    const { page } = opened;
    await page.keyboard.press('Control+k');
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('search');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    expect(await opened.effects('loadSession')).toEqual([{ type: 'loadSession', sessionId: 'hsess_2' }]);
    const remove = page.getByRole('button', { name: 'Delete Draft the release notes for 2.4' });
    await page.getByRole('button', { name: /^Draft the release notes/ }).focus();
    await remove.click();
    const dialog = page.getByRole('dialog', { name: 'Delete this session?' });
    await dialog.getByRole('button', { name: 'Keep it' }).click();
    expect(await focused(page)).toBe('Delete Draft the release notes for 2.4');
    expect(await opened.effects('deleteSession')).toEqual([]);
    await remove.click();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    expect(await opened.effects('deleteSession')).toEqual([{ type: 'deleteSession', sessionId: 'hsess_3' }]);
    await page.getByRole('button', { name: 'Rename Draft the release notes for 2.4' }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Notes');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Notes/ }).waitFor();
  });

  test('C-053: files are listed, shown as text or picture, and asked for', async () => {
    await using opened = await gallery.open(scenes.finished);
    const { page } = opened;
    await page.getByRole('button', { name: 'Files 3' }).click();
    const files = page.getByRole('complementary', { name: 'Files' });
    await files.getByRole('button', { name: /^report\.html/ }).click();
    await page.getByText('<b>is text</b>').waitFor();
    await page.keyboard.press('Escape');
    await files
      .getByRole('button', { name: /rows-per-day\.png/ })
      .first()
      .click();
    await page.getByRole('img', { name: 'out/rows-per-day.png' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Download', exact: true }).click();
    await page.keyboard.press('Escape');
    await files.getByRole('button', { name: 'Download all' }).click();
    expect(await page.evaluate('asked')).toEqual(['download out/rows-per-day.png', 'download all of hsess_1']);
    expect(opened.errors).toEqual([]);
  });

  test('C-070, C-073: each dialog has no serious finding, closes by Escape, and gives the focus back', async () => {
    await using opened = await gallery.open(scenes.finished);
    const { page } = opened;
    for (const [opener, title] of [
      ['Settings and keys', 'Settings'],
      ['Share', 'Share this session'],
      ['Details', 'The last turn'],
      ['Demo (no AI): model, harness and folder', 'For the next turn'],
    ] as const) {
      const button = page.getByRole('button', { name: opener, exact: true });
      await button.click();
      await page.getByRole('dialog', { name: title }).waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect([title, await focused(page)]).toEqual([title, opener]);
    }
  });

  test('UD-48: what the turn and the session have cost stands below the turn, and in its details', async () => {
    await using opened = await gallery.open(scenes.finished);
    const { page } = opened;
    const foot = page.locator('.turn-foot');
    await expect(foot.textContent()).resolves.toContain('12,340 tokens in · 512 out · 9,000 from cache · $0.0412');
    await foot.getByRole('button', { name: 'Details' }).click();
    await expect(page.getByRole('dialog').locator('dd').allTextContents()).resolves.toContain('$0.0412');
    await opened.show(longScene(1));
    await expect(foot.textContent()).resolves.toBe('demo · session about $1.27Details');
  });

  test('C-047: what can be had comes first, all of the picker is in sight, and what cannot says how it would be', async () => {
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ]) {
      await using opened = await gallery.open(scenes.picking, { viewport });
      const panel = opened.page.getByRole('dialog', { name: 'For the next turn' });
      const isInSight = (label: string) =>
        opened.page.evaluate<boolean>(`(() => {
          const panel = document.querySelector('.picker-panel').getBoundingClientRect();
          const [field] = [...document.querySelectorAll('.picker-panel label')].filter((each) => each.textContent.includes('${label}'));
          const { top, bottom } = field.getBoundingClientRect();
          return top >= Math.max(0, panel.top) && bottom <= Math.min(innerHeight, panel.bottom);
        })()`);
      for (const label of ['Demo', 'Reins engine', 'Working directory'])
        expect([label, await isInSight(label)]).toEqual([label, true]);
      await panel.getByText('1 not available').click();
      const off = panel.getByRole('radio', { name: /GPT-6 Thinking/ });
      expect(await off.isDisabled()).toBe(true);
      await panel.getByText('Set OPENAI_API_KEY or OPENROUTER_API_KEY to use it.').first().waitFor();
      await panel.getByText('2 not available').click();
      expect(await panel.getByRole('radio', { name: 'Pi', exact: true }).isDisabled()).toBe(true);
      await panel.getByText(/^Pi is not installed: npm install/).waitFor();
      await expectAccessible(opened.page);
    }
  });

  test('C-031: a task at rest has a button that lets it go on', async () => {
    await using opened = await gallery.open(scenes.paused);
    const { page } = opened;
    await page.getByText('Paused').first().waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    expect(await opened.effects('resume')).toEqual([{ type: 'resume', sessionId: 'hsess_1', responseId: 'resp_1' }]);
    expect(await focused(page)).toBe('Message');
  });

  test('files that are open belong to their session: another one begins without', async () => {
    await using opened = await gallery.open(scenes.finished);
    const { page } = opened;
    const files = page.getByRole('complementary', { name: 'Files' });
    await page.getByRole('button', { name: 'Files 3' }).click();
    await files.waitFor();
    await page.getByRole('button', { name: 'New session' }).click();
    await files.waitFor({ state: 'detached' });
  });

  test('C-073: the first stop is a link to the message', async () => {
    await using opened = await gallery.open(scenes.finished);
    const { page } = opened;
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press('Tab');
    await page.getByRole('link', { name: 'Skip to the message' }).press('Enter');
    expect(await focused(page)).toBe('Message');
  });
});
