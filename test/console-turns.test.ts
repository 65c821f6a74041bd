// Turns of the page over a real server: it follows, lets go, takes up again (C-001, C-032, C-037 to C-039).

import { describe, expect, test } from 'vitest';
import { isReady, type Tab } from './support/console-tab.ts';
import { openPlace, type Place } from './support/console-place.ts';
import { responseOf } from '../src/console/state/turn.ts';
import { turnOf, type ConsoleState } from '../src/console/state/state.ts';

const said = (words: string) => (state: ConsoleState) =>
  state.rows.some((row) => row.kind === 'assistant' && row.text.includes(words));
const nameOf = (state: ConsoleState) => {
  const turn = turnOf(state);
  return (turn === null ? null : responseOf(turn)) ?? '';
};
const withoutThinking = (tab: Tab) => tab.shown.filter((row) => row !== 'K');
const statusOf = async ({ server }: Place, id: string) => (await server.uhp.get(id)).body.status;

describe('a turn', () => {
  test('with text and a tool: rows, address, list and files are those of the server', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.say('write');
    expect(tab.shown).toEqual(['U']);
    await tab.until((state) => isReady(state) && state.files.length > 0 && state.sessions.items.length > 0);
    expect(tab.shown).toEqual(['U', 'A"I write. "', 'T[write_file ok]', 'A"Written."', 'S']);
    expect(tab.path).toBe(`/s/${tab.state.sessions.items[0]?.id}`);
    tab.say('hello');
    await tab.until(isReady);
    expect(tab.shown.slice(5)).toEqual(['U', 'A"You said: hello"', 'S']);
    expect(tab.state.sessions.items).toHaveLength(1);
  });

  test('C-090 4: a reload in the middle of an answer goes on as if there had been none, but for the thinking before it', async () => {
    await using place = await openPlace();
    using tab = place.open();
    using other = place.open();
    for (const each of [tab, other]) each.say('held write');
    for (const each of [tab, other]) await each.until(said('Now'));
    using again = other.reload();
    await again.until(said('Now'));
    expect(again.shown).toEqual(withoutThinking(tab));
    place.gate.open();
    for (const each of [tab, again]) await each.until(isReady);
    expect(tab.shown).toEqual(['U', 'K', 'A"I write. "', 'T[write_file ok]', 'K', 'A"Now done."', 'S']);
    expect(again.shown).toEqual(withoutThinking(tab));
    using last = again.reload();
    await last.until((state) => isReady(state) && state.rows.length > 0);
    expect(last.shown).toEqual(withoutThinking(tab));
  });

  test('C-001: a closed tab stops nothing', async () => {
    await using place = await openPlace();
    const tab = place.open();
    tab.say('held');
    const id = nameOf(await tab.until(said('first')));
    tab[Symbol.dispose]();
    expect(await statusOf(place, id)).toBe('in_progress');
    place.gate.open();
    await expect.poll(() => statusOf(place, id)).toBe('completed');
  });
});

describe('C-090 3: Stop', () => {
  const stopped = async (tab: Tab) => {
    tab.console.dispatch({ type: 'stop' });
    tab.console.dispatch({ type: 'stop' });
    await tab.until(isReady);
    expect(tab.shown.filter((row) => row === 'S' || row === 'E')).toEqual(['S']);
    expect(tab.state.rows.at(-1)).toMatchObject({ text: 'Turn ended · you stopped' });
  };

  test('before the request has left: none leaves', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.say('hello');
    await stopped(tab);
    expect(tab.shown).toEqual(['U', 'S']);
    expect((await place.server.uhp.send('GET', '/v1/sessions')).body['sessions']).toEqual([]);
  });

  test('right after the request: what was begun is cancelled', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.say('held');
    await tab.until((state) => turnOf(state)?.request.kind === 'sent');
    await stopped(tab);
    const id = [...tab.state.responses.values()][0] ?? '';
    expect(await statusOf(place, id)).toBe('cancelled');
  });

  test('while the model speaks: what it said stays', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.say('held');
    const id = nameOf(await tab.until(said('first')));
    await stopped(tab);
    expect(tab.shown).toEqual(['U', 'K', 'A"first "', 'S']);
    expect(await statusOf(place, id)).toBe('cancelled');
  });

  test('while a tool runs, in a page that was loaded again', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.say('held tool');
    await tab.until(({ rows }) => rows.some(({ kind }) => kind === 'tool_run'));
    using again = tab.reload();
    const id = nameOf(await again.until(({ rows }) => rows.some(({ kind }) => kind === 'tool_run')));
    await stopped(again);
    expect(again.shown).toEqual(['U', expect.stringMatching(/^T\[bash (stopped|failed)\]$/), 'S']);
    expect(await statusOf(place, id)).toBe('cancelled');
  });
});

describe('C-039: the connection is lost', () => {
  test('no network: nothing ends, and all is there when it is back', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.say('held write');
    await tab.until(said('Now'));
    tab.offline();
    place.gate.open();
    // Streams that are open stay so without a network, until the browser has noticed.
    await place.server.uhp.send('GET', '/v1/sessions');
    tab.online();
    await tab.until(isReady);
    expect(withoutThinking(tab)).toEqual(['U', 'A"I write. "', 'T[write_file ok]', 'A"Now done."', 'S']);
  });

  test('C-014 V22: a stream that is cut again and again gives the rows of one that was not', async () => {
    await using place = await openPlace();
    let left = 0;
    // Every stream ends after so many bytes.
    const cutting: typeof fetch = async (...request) => {
      const answer = await fetch(...request);
      if (answer.headers.get('content-type')?.startsWith('text/event-stream') !== true || answer.body === null)
        return answer;
      let room = 1_500 + 700 * (left++ % 3);
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, to) {
          to.enqueue(chunk.subarray(0, Math.max(0, room)));
          room -= chunk.length;
          if (room <= 0) to.terminate();
        },
      });
      return new Response(answer.body.pipeThrough(cut), { status: answer.status, headers: answer.headers });
    };
    using tab = place.open({ fetch: cutting });
    tab.say('write');
    await tab.until(isReady);
    expect(tab.shown).toEqual(['U', 'A"I write. "', 'T[write_file ok]', 'A"Written."', 'S']);
    expect(left).toBeGreaterThan(2);
  });

  test('V18: what the server refuses is one request and one line', async () => {
    await using place = await openPlace();
    using tab = place.open();
    tab.console.dispatch({ type: 'choice_changed', choice: { model: 'nobody/knows' } });
    tab.say('hello');
    await tab.until(isReady);
    expect(tab.shown).toEqual(['U', 'E']);
    expect(tab.state.rows.at(-1)).toMatchObject({
      text: expect.stringMatching(/^Turn ended · error · This model cannot be served/),
    });
  });

  test('a browser that is signed in no more says so', async () => {
    await using place = await openPlace();
    using tab = place.open({ key: 'rk_wrong' });
    await expect.poll(() => tab.isSignedOut).toBe(true);
  });
});
