// What people say to a task, from several pages: approvals, messages, the session itself (C-045, C-050, C-051, C-054).

import { describe, expect, test } from 'vitest';
import { isReady, openBrowser } from './support/console-tab.ts';
import { listAsked, say as decide } from './support/asking-server.ts';
import { openPlace } from './support/console-place.ts';
import type { ActionBody } from '../src/console/state/action.ts';
import type { ConsoleState } from '../src/console/state/state.ts';

const asking = { settings: { approvals: { toolPermissions: { bash: 'ask' } } } };
const asks = (count: number) => (state: ConsoleState) =>
  state.approvals.filter(({ approval }) => approval.status === 'pending').length === count;
const verdict = (state: ConsoleState, decision: 'approve' | 'deny', note?: string): ActionBody => ({
  type: 'verdict_given',
  approvalId: state.approvals.find(({ approval }) => approval.status === 'pending')?.approval.id ?? '',
  verdict: { verb: 'decide', body: { decision, ...(note === undefined ? {} : { note }) } },
});

describe('C-090 6: approvals', () => {
  test('one that waits is shown after a reload, and its answer goes on with the task', async () => {
    await using place = await openPlace(asking);
    using tab = place.open();
    tab.say('tools');
    await tab.until(asks(1));
    using again = tab.reload();
    again.console.dispatch(verdict(await again.until(asks(1)), 'approve'));
    await again.until((state) => asks(1)(state) && state.approvals.length === 2, 'the second');
    again.console.dispatch(verdict(again.state, 'deny', 'not today'));
    await again.until(isReady);
    expect(again.shown).toEqual(['U', 'T[bash ok, bash failed]', 'A"Both."', 'S']);
    const verdicts = ['approved', 'denied'];
    expect(again.state.approvals.map(({ approval }) => approval.status)).toEqual(verdicts);
    using later = again.reload();
    await later.until((state) => isReady(state) && state.approvals.length === 2);
    expect(later.state.approvals.map(({ approval }) => approval.status)).toEqual(verdicts);
    expect(JSON.stringify(place.model.asked('tools').at(-1)?.body)).toContain('not today');
  });

  test('decided in another tab: both show it, and an answer that comes later shows the one that won', async () => {
    await using place = await openPlace(asking);
    const browser = openBrowser();
    using tab = place.open({ browser });
    tab.say('tools');
    const before = await tab.until(asks(1));
    using other = place.open({ browser, path: tab.path });
    const late = verdict(before, 'deny');
    other.console.dispatch(verdict(await other.until(asks(1)), 'approve'));
    tab.console.dispatch(late);
    const isTold = ({ approvals }: ConsoleState) => approvals[0]?.answer.kind === 'conflict';
    await tab.until((state) => isTold(state) || state.approvals[0]?.approval.status === 'approved');
    await other.until((state) => state.approvals.length === 2);
    expect(tab.state.approvals[0]?.approval.status).toBe('approved');
    other.console.dispatch(verdict(await other.until(asks(1)), 'approve'));
    for (const each of [tab, other]) await each.until(isReady);
    expect(tab.shown).toEqual(other.shown);
  });

  test('decided by somebody else while the page was away: read again when it is back', async () => {
    await using place = await openPlace(asking);
    using tab = place.open();
    tab.say('tools');
    await tab.until(asks(1));
    tab.offline();
    const [asked] = await listAsked(place.server.uhp, 'status=open');
    await decide(place.server.uhp, { id: asked?.id ?? '' }, 'decide', { decision: 'deny' });
    tab.online();
    await tab.until(({ approvals }) => approvals[0]?.approval.status === 'denied');
  });
});

describe('C-045: messages while the agent works', () => {
  test('it reads them at its next step, where it can', async () => {
    await using place = await openPlace(asking);
    using tab = place.open();
    await tab.until(({ catalogue }) => catalogue.steering);
    tab.say('tools');
    await tab.until(asks(1));
    tab.say('and be quick');
    await tab.until(({ queue }) => queue.chips[0]?.state === 'steering');
    tab.console.dispatch(verdict(tab.state, 'approve'));
    await tab.until(({ rows }) => rows.some((row) => row.kind === 'user' && row.text === 'and be quick'));
    expect(tab.state.queue.chips).toEqual([]);
  });

  test('what waits outlives a reload, and goes out once, as turns in order', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.say('held');
    await tab.until(({ rows }) => rows.length > 2);
    tab.say('one');
    tab.say('two');
    tab.console.dispatch({ type: 'draft_changed', draft: 'a draft' });
    using again = tab.reload();
    await again.until(({ queue }) => queue.chips.length === 2);
    expect(again.state.composer.draft).toBe('a draft');
    place.gate.open();
    await again.until((state) => isReady(state) && state.queue.chips.length === 0);
    expect(again.shown.filter((row) => row.startsWith('A'))).toEqual([
      'A"first second"',
      'A"You said: one"',
      'A"You said: two"',
    ]);
    expect(place.model.asked('one')).toHaveLength(1);
  });
});

describe('C-054: sessions', () => {
  test('the address names the one that is open, going back leaves it, a wrong one is said to be so', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.say('hello');
    await tab.until(isReady);
    const { path } = tab;
    tab.console.dispatch({ type: 'session_opened', sessionId: null });
    expect(tab.path).toBe('/');
    tab.back();
    await tab.until(({ session }) => session.kind === 'open');
    expect([tab.path, tab.shown]).toEqual([path, ['U', 'A"You said: hello"', 'S']]);
    using wrong = place.open({ path: '/s/hsess_nobody' });
    await wrong.until(({ session }) => session.kind === 'missing');
    expect(wrong.effects.at(-1)).toMatchObject({ type: 'announce', urgency: 'alert' });
    wrong.say('hello');
    expect((await place.server.uhp.send('GET', '/v1/sessions')).body['sessions']).toHaveLength(1);
  });

  test('shared, no more shared, removed', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.say('write');
    const { session } = await tab.until((state) => isReady(state) && state.session.kind === 'open');
    const sessionId = session.kind === 'open' ? session.id : '';
    tab.console.dispatch({ type: 'share_asked', want: 'read' });
    await tab.until(({ share }) => share.kind === 'off');
    tab.console.dispatch({ type: 'share_asked', want: 'on' });
    await tab.until(({ share }) => share.kind === 'on');
    tab.console.dispatch({ type: 'share_asked', want: 'off' });
    await tab.until(({ share }) => share.kind === 'off');
    tab.console.dispatch({ type: 'session_delete_confirmed', sessionId });
    await tab.until((state) => state.session.kind === 'new' && state.sessions.items.length === 0);
  });

  test('files: attached ones go with the message, made ones are saved and shown', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.console.files.attach(new Blob(['hello']), 'notes.txt');
    await tab.until(({ composer }) => composer.attachments[0]?.kind === 'ready');
    tab.say('read');
    await tab.until(isReady);
    expect(JSON.stringify(place.model.server.requests[0]?.body)).toContain('notes.txt');
    tab.say('write');
    const { files } = await tab.until((state) => isReady(state) && state.files.length > 0);
    const [file] = files;
    if (file === undefined) throw new Error('There is no file.');
    const { signal } = new AbortController();
    expect(await tab.console.files.preview(file, signal)).toEqual({ kind: 'text', text: 'x', whole: true });
    tab.console.files.download(file);
    tab.console.files.downloadAll(tab.path.slice(3), 'All: of it');
    await expect.poll(() => tab.saved.map(({ name }) => name).toSorted()).toEqual(['All_ of it.zip', 'a.txt']);
  });

  test('C-038: older turns are read back to the first one', async () => {
    const many = Array.from({ length: 6 }, (_, index) => `n${index}`);
    await using place = await openPlace();
    using tab = place.open();
    for (const text of many) {
      tab.say(text);
      await tab.until(isReady);
    }
    using again = tab.reload();
    await again.until((state) => isReady(state) && state.rows.length > 0);
    expect(again.shown).toEqual(tab.shown);
    expect(again.state.earlier).toBe('none');
  });

  test('C-037: of past turns only those that called something, and the newest one, are read by themselves', async () => {
    await using place = await openPlace();
    using tab = place.open();
    for (const text of ['a', 'write', 'b', 'c', 'd']) {
      tab.say(text);
      await tab.until(isReady);
    }
    const asked: string[] = [];
    const counting: typeof fetch = (input, init) => {
      asked.push(input instanceof Request ? input.url : input.toString());
      return fetch(input, init);
    };
    using other = place.open({ path: tab.path, fetch: counting });
    await other.until((state) => isReady(state) && state.rows.length > 0);
    expect(other.shown).toEqual(tab.shown);
    expect(asked.filter((url) => url.includes('/v1/responses/'))).toHaveLength(2);
    expect(other.state.lastTurn).toMatchObject({ details: { model: tab.state.lastTurn?.details.model } });
    expect(other.state.lastTurn?.tookMs).toBeGreaterThan(0);
  });

  test('a new title is shown in the other tabs of the browser', async () => {
    await using place = await openPlace();
    const browser = openBrowser();
    using tab = place.open({ browser });
    tab.say('hello');
    const { session } = await tab.until((state) => isReady(state) && state.sessions.items.length > 0);
    using other = place.open({ browser, path: tab.path });
    await other.until((state) => isReady(state) && state.sessions.items.length > 0);
    const sessionId = session.kind === 'open' ? session.id : '';
    tab.console.dispatch({ type: 'session_renamed', sessionId, title: 'Another name' });
    await other.until((state) => state.session.kind === 'open' && state.session.title === 'Another name');
  });
});
