// Whole journeys in a real browser over a real server with a real engine and a scripted model (C-090).

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
  stopped,
} from './support/console-steps.ts';
import { call, hold, reply, say, text } from './support/model.ts';
import { describeInChromium } from './support/chromium.ts';
import { openConsoleBench } from './support/console-bench.ts';

const thinking = (...chunks: string[]) => ({ kind: 'thinking', chunks }) as const;
const write = (id: string, path: string) => call(id, 'write_file', { path, content: '# Title\n\nSome *text*.\n' });
const replies = {
  write: [reply(thinking('I think about it. '), text('I write **it**. '), write('c1', 'a.md')), say('Written.')],
  'held write': [
    reply(thinking('I plan. '), text('I write it. '), write('c1', 'b.md')),
    reply(thinking('Well. '), text('Now '), hold, text('it is done.')),
  ],
  'held tool': [reply(call('c1', 'bash', { command: 'sleep 600' })), say('never')],
  ask: [reply(call('c1', 'bash', { command: 'echo one' })), say('Asked.')],
  'ask twice': [
    reply(call('c1', 'bash', { command: 'echo one' }), call('c2', 'bash', { command: 'echo two' })),
    say('Asked twice.'),
  ],
};

describeInChromium('C-090: journeys', (browser) => {
  const bench = openConsoleBench(browser, { replies, settings: { approvals: { toolPermissions: { bash: 'ask' } } } });

  test('items 1 and 2: a whole turn: thinking, text, a tool, its file; then another one', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await expect.poll(() => hasFocus(page)).toBe(true);
    await expectAccessible(page);
    await send(page, 'write');
    await ends(page, 1, finished);
    expect(await shown(page)).toEqual(['write', 'I write it.', '1 tool called', 'Written.', finished]);
    expect(new URL(page.url()).pathname).toMatch(/^\/s\/hsess/);
    expect(await hasFocus(page)).toBe(true);
    // Item 2: thinking is closed at the end; what a person opens stays so.
    const thought = log(page).getByRole('button', { name: /^Thinking/ });
    expect(await thought.getAttribute('aria-expanded')).toBe('false');
    await thought.click();
    await send(page, 'hello');
    await ends(page, 2, finished);
    expect(await thought.getAttribute('aria-expanded')).toBe('true');
    await sees(page, 'You said: hello');
    const card = log(page).getByRole('button', { name: /1 tool called/ });
    await card.click();
    await log(page).getByText('write_file').first().waitFor();
    await expectAccessible(page);

    await page.getByRole('button', { name: /^Files/ }).click();
    const files = page.getByRole('complementary', { name: 'Files' });
    await files.getByRole('button', { name: /a\.md/ }).first().click();
    await page.getByRole('dialog').getByText('# Title').waitFor();
    await expectAccessible(page);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('dialog').getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('a.md');
    await page.keyboard.press('Escape');
    await opened.expectNoProblems();
  });

  test('C-027, item 4: a reload in the middle of an answer, and one after it', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await send(page, 'held write');
    await sees(page, 'Now');
    await page.reload();
    await sees(page, 'Now');
    await button(page, 'Stop').waitFor();
    await expectAccessible(page);
    bench.gate.open();
    await ends(page, 1, finished);
    const rows = ['held write', 'I write it.', '1 tool called', 'Now it is done.', finished];
    expect(await shown(page)).toEqual(rows);
    await page.reload();
    await ends(page, 1, finished);
    expect(await shown(page)).toEqual(rows);
    await opened.expectNoProblems();
  });

  test('item 3: Stop, while the model speaks, while a tool runs, and after a reload', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await send(page, 'held write');
    await sees(page, 'Now');
    await button(page, 'Stop').click();
    await ends(page, 1, stopped);
    await button(page, 'Send').waitFor();
    await send(page, 'held tool');
    await button(page, 'Allow once').click();
    await page.reload();
    await log(page).getByText('1 tool called').nth(1).waitFor();
    await page.keyboard.press('Control+.');
    await ends(page, 2, stopped);
    await ends(page, 2);
    await opened.expectNoProblems();
  });

  test('item 6: an approval after a reload, denied with a reason; answered in another tab; two at once', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await send(page, 'ask');
    await page.getByRole('region', { name: /Approval needed: bash/ }).waitFor();
    await expectAccessible(page);
    await expect.poll(() => page.title()).toBe('● ask · Reins');
    await page.reload();
    await page.getByRole('textbox', { name: /Reason/ }).fill('not today');
    await button(page, 'Deny').click();
    await ends(page, 1, finished);
    await expect.poll(() => page.title()).toBe('ask · Reins');
    // C-051, C-037: what was decided, and what the turn took, is read again later.
    await page.reload();
    await page.getByRole('region', { name: 'Denied by owner · not today: bash' }).waitFor();
    await button(page, 'Details').waitFor();
    expect(JSON.stringify(bench.model.asked('ask').at(-1)?.body)).toContain('not today');

    await send(page, 'ask twice');
    await expect.poll(() => button(page, 'Allow once').count()).toBe(2);
    const other = await opened.newTab(new URL(page.url()).pathname);
    await expect.poll(() => button(other, 'Allow once').count()).toBe(2);
    await button(other, 'Allow once').first().click();
    await expect.poll(() => button(page, 'Allow once').count()).toBe(1);
    await button(page, 'Allow once').click();
    await Promise.all([ends(page, 2, finished), ends(other, 2, finished)]);
    expect(await shown(page)).toEqual(await shown(other));
    await opened.expectNoProblems();
  });

  test('C-040: two tabs on one session show the same, whichever began', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await send(page, 'hello');
    await ends(page, 1, finished);
    const other = await opened.newTab(new URL(page.url()).pathname);
    await ends(other, 1, finished);
    await send(other, 'held write');
    await sees(page, 'Now');
    bench.gate.open();
    await Promise.all([ends(page, 2, finished), ends(other, 2, finished)]);
    expect(await shown(page)).toEqual(await shown(other));
    await opened.expectNoProblems();
  });

  test('item 7: messages that wait: edited, removed, resting after Stop', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await send(page, 'held write');
    await sees(page, 'Now');
    for (const each of ['one', 'two', 'three']) await send(page, each);
    const chips = page.getByRole('list', { name: 'Messages that wait' }).getByRole('listitem');
    await expect.poll(() => chips.count()).toBe(3);
    await chips.nth(1).getByRole('button', { name: 'Remove message' }).click();
    await chips.nth(0).getByRole('button', { name: 'Edit message' }).click();
    await page.getByRole('textbox', { name: 'Message that waits' }).fill('edited');
    await page.keyboard.press('Enter');
    await button(page, 'Stop').click();
    await ends(page, 1, stopped);
    await expect.poll(() => chips.count()).toBe(2);
    await message(page).focus();
    await page.keyboard.press('Enter');
    await ends(page, 2, finished);
    expect((await shown(page)).filter((row) => row.startsWith('You said'))).toEqual([
      'You said: edited',
      'You said: three',
    ]);
    await opened.expectNoProblems();
  });

  test('both transports: the simple one shows the same rows', async () => {
    await using opened = await bench.open();
    const { page } = opened;
    await page.getByRole('button', { name: /Settings/ }).click();
    await page.getByRole('radio', { name: /^Simple/ }).check();
    await page.keyboard.press('Escape');
    await send(page, 'write');
    await ends(page, 1, finished);
    expect(await shown(page)).toEqual(['write', 'I write it.', '1 tool called', 'Written.', finished]);
    await page.reload();
    await ends(page, 1, finished);
    expect(await shown(page)).toEqual(['write', 'I write it.', '1 tool called', 'Written.', finished]);
    await opened.expectNoProblems();
  });
});
