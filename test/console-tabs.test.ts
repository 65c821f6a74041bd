// Several tabs of one browser, what they share, and what a page does that nobody looks at (C-002, C-040).

import { createManualClock } from '../src/testing/manual-clock.ts';
import { describe, expect, test } from 'vitest';
import { isReady, openBrowser, type Tab } from './support/console-tab.ts';
import { listAsked, say as decide } from './support/asking-server.ts';
import { openPlace } from './support/console-place.ts';
import { turnOf, type ConsoleState } from '../src/console/state/state.ts';

const linkOf = ({ state }: Tab) => turnOf(state)?.link.kind;
const hasFirst = ({ rows }: ConsoleState) => rows.some((row) => row.kind === 'assistant' && row.text.includes('first'));

describe('C-040: two tabs on one session', () => {
  test('show the same, whichever of them began', async () => {
    await using place = await openPlace();
    const browser = openBrowser();
    using one = place.open({ browser });
    one.say('hello');
    await one.until(isReady);
    using two = place.open({ browser, path: one.path });
    await two.until((state) => isReady(state) && state.rows.length > 0);
    two.say('held');
    await one.until(hasFirst);
    expect(one.shown).toEqual(two.shown);
    place.gate.open();
    for (const each of [one, two]) await each.until(isReady);
    expect(one.shown).toEqual(two.shown);
    one.say('write');
    await one.until((state) => isReady(state) && state.rows.length > 9);
    await two.until((state) => isReady(state) && state.rows.length === one.state.rows.length);
    expect(two.shown).toEqual(one.shown);
  });

  test('a turn that another browser began is there when the page is looked at again', async () => {
    await using place = await openPlace();
    using one = place.open();
    one.say('hello');
    await one.until(isReady);
    using two = place.open({ path: one.path });
    await two.until((state) => isReady(state) && state.rows.length > 0);
    two.say('write');
    await two.until((state) => isReady(state) && state.rows.length > 3);
    one.hide();
    one.show();
    await one.until((state) => isReady(state) && state.rows.length === two.state.rows.length);
    expect(one.shown).toEqual(two.shown);
  });
});

describe('C-040: streams', () => {
  test('C-090 12: of eight tabs four have one; the others ask, and all reach their end', async () => {
    await using place = await openPlace();
    const browser = openBrowser();
    const tabs = Array.from({ length: 8 }, () => place.open({ browser }));
    for (const tab of tabs) tab.say('held');
    await expect
      .poll(() => Object.groupBy(tabs.map(linkOf), (link) => link ?? 'none'), { timeout: 8_000 })
      .toEqual({ live: Array(4).fill('live'), polling: Array(4).fill('polling') });
    const [closed, ...others] = tabs.filter((tab) => linkOf(tab) === 'live');
    closed?.[Symbol.dispose]();
    const live = () => tabs.filter((tab) => tab !== closed && linkOf(tab) === 'live').length;
    await expect.poll(live).toBe(others.length + 1);
    place.gate.open();
    for (const tab of tabs.filter((each) => each !== closed)) {
      await tab.until(isReady);
      expect(tab.shown.filter((row) => row !== 'K')).toEqual(['U', 'A"first second"', 'S']);
      tab[Symbol.dispose]();
    }
  });

  test('B150: a tab that nobody has looked at for a minute gives its own away, and takes one again when somebody does', async () => {
    await using place = await openPlace();
    const clock = createManualClock();
    using tab = place.open({ clock });
    tab.say('held');
    await tab.until(hasFirst);
    tab.hide();
    await clock.advance(59_000);
    expect(linkOf(tab)).toBe('live');
    await clock.advance(2_000);
    expect(linkOf(tab)).toBe('polling');
    tab.show();
    await expect.poll(() => linkOf(tab)).toBe('live');
    expect(tab.shown).toEqual(['U', 'K', 'A"first "']);
  });

  test('C-050: what waits for a person is shown in a tab without a stream too, and so is that it was decided elsewhere', async () => {
    await using place = await openPlace({ settings: { approvals: { toolPermissions: { bash: 'ask' } } } });
    const browser = openBrowser();
    const others = Array.from({ length: 4 }, () => place.open({ browser }));
    for (const tab of others) tab.say('held');
    for (const tab of others) await tab.until(hasFirst);
    using tab = place.open({ browser });
    tab.say('held tool');
    await tab.until(({ approvals }) => approvals[0]?.approval.status === 'pending');
    expect(linkOf(tab)).toBe('polling');
    const [asked] = await listAsked(place.server.uhp, 'status=open');
    await decide(place.server.uhp, { id: asked?.id ?? '' }, 'decide', { decision: 'deny' });
    await tab.until(({ approvals }) => approvals[0]?.approval.status === 'denied');
    for (const each of others) each[Symbol.dispose]();
  });

  test('a browser without locks has a stream all the same', async () => {
    await using place = await openPlace();
    using tab = place.open({ browser: { ...openBrowser(), locks: null } });
    tab.say('hello');
    await tab.until(isReady);
    expect(tab.shown).toEqual(['U', 'A"You said: hello"', 'S']);
  });
});

describe('C-002: what the browser keeps', () => {
  test('C-090 18: nothing, where it is forbidden: said once, and no message is lost', async () => {
    await using place = await openPlace();
    using tab = place.open({ browser: { ...openBrowser(), forbidden: true } });
    tab.say('hello');
    await tab.until(isReady);
    tab.console.dispatch({ type: 'draft_changed', draft: 'more' });
    tab.console.dispatch({ type: 'session_opened', sessionId: null });
    tab.back();
    await tab.until(({ composer }) => composer.draft === 'more');
    expect(tab.state.notices.map(({ id }) => id)).toEqual(['storage']);
    expect(tab.shown).toEqual(['U', 'A"You said: hello"', 'S']);
  });

  test('no credential, and nothing of what was said', async () => {
    await using place = await openPlace();
    const browser = openBrowser();
    using tab = place.open({ browser });
    tab.say('hello');
    await tab.until(isReady);
    tab.console.dispatch({ type: 'preferences_changed', change: { theme: 'dark' } });
    using again = tab.reload();
    expect(again.state.preferences.theme).toBe('dark');
    expect([...browser.kept.keys()]).toEqual(['reins.owner.preferences']);
  });
});

describe('simple mode: POST /api/agent (C-001)', () => {
  const simple = (tab: Tab) => tab.console.dispatch({ type: 'preferences_changed', change: { transport: 'agent' } });

  test('the same rows as of a task; they are kept in this browser', async () => {
    await using place = await openPlace();
    using tab = place.open();
    simple(tab);
    tab.say('write');
    await tab.until(isReady);
    expect(tab.shown).toEqual(['U', 'A"I write. "', 'T[write_file ok]', 'A"Written."', 'S']);
    using again = tab.reload();
    expect(again.shown).toEqual(tab.shown);
  });

  test('C-090 5: who closes the tab stops the turn, and so does Stop', async () => {
    await using place = await openPlace();
    const running = async () => {
      const { body } = await place.server.uhp.send('GET', '/v1/sessions');
      return (body['sessions'] as { status: string }[]).map(({ status }) => status);
    };
    const tab = place.open();
    simple(tab);
    tab.say('held');
    await tab.until(hasFirst);
    expect(await running()).toEqual(['in_progress']);
    tab[Symbol.dispose]();
    await expect.poll(running).toEqual(['cancelled']);
    using other = place.open();
    simple(other);
    other.say('held');
    await other.until(hasFirst);
    other.console.dispatch({ type: 'stop' });
    expect(other.shown).toEqual(['U', 'K', 'A"first "', 'S']);
    await expect.poll(running).toEqual(['cancelled', 'cancelled']);
  });

  test('a refusal is told in the words of the server', async () => {
    await using place = await openPlace();
    using tab = place.open();
    simple(tab);
    tab.console.dispatch({ type: 'choice_changed', choice: { cwd: '/etc' } });
    tab.say('hello');
    await tab.until(isReady);
    expect(tab.state.rows.at(-1)).toMatchObject({
      text: expect.stringMatching(/^Turn ended · invalid input · Invalid cwd/),
    });
  });
});
