// Rows 13: the whole page of the console in Chromium (C-081), its panels over its own reducer with no server behind them. Stored
// history is of 682 turns: what was asked, an answer with headings, lists, a table and code, an end line; 2,046 rows.

import { answer, codeLines } from './texts.ts';
import { digits, type Benchmark, type Row } from '../row.ts';
import { fileURLToPath } from 'node:url';
import { launchChromium } from './launch-chromium.ts';
import { median, percentile } from '../statistics.ts';
import { servePage } from './serve-page.ts';
import type { Action, ActionBody } from '../../src/console/state/action.ts';
import type { Browser, Page } from 'playwright-core';
import type { TurnEvent } from '../../src/console/state/turn-event.ts';

const gallery = fileURLToPath(new URL('../../src/console/gallery', import.meta.url));
const turns = 682;

export const wholePage: Benchmark = async ({ quick }) => {
  await using served = await servePage(gallery);
  const browser = await launchChromium();
  try {
    const runs: PageFigures[] = [];
    for (let run = 0; run < (quick ? 1 : 3); run++) runs.push(await measure(browser, served.url));
    const of = (figure: (figures: PageFigures) => number) => median(runs.map(figure));
    return rowsOf(of);
  } finally {
    await browser.close();
  }
};

interface PageFigures {
  readonly nodes: number;
  readonly layoutMs: number;
  readonly openMs: number;
  readonly updateMs: number;
  readonly worstUpdateMs: number;
  readonly gapPx: number;
  readonly frameMs: number;
  readonly previewMs: number;
  readonly heapMiB: readonly [number, number];
}

function rowsOf(of: (figure: (figures: PageFigures) => number) => number): readonly Row[] {
  const row = (what: string, reins: string, target: string, met: boolean): Row => ({
    what: `13 ${what}`,
    bare: '–',
    reins,
    ratio: '–',
    target,
    met,
  });
  const [layout, update, worst, gap] = [
    of((each) => each.layoutMs),
    of((each) => each.updateMs),
    of((each) => each.worstUpdateMs),
    of((each) => each.gapPx),
  ];
  const [frame, preview] = [of((each) => each.frameMs), of((each) => each.previewMs)];
  const [after, later] = [of(({ heapMiB: [first] }) => first), of(({ heapMiB: [, second] }) => second)];
  return [
    row(
      `${(turns * 3).toLocaleString('en-GB')} rows, ${turns} rich answers, ${of((each) => each.nodes).toLocaleString('en-GB')} nodes: first layout; with the fold, React and markdown`,
      `${digits(layout, 0)} ms; ${digits(
        of((each) => each.openMs),
        0,
      )} ms`,
      '≤ 800 ms',
      layout <= 800,
    ),
    row(
      'A token at the end of them, of 300: script and layout; gap at the end',
      `median ${digits(update)} ms, worst ${digits(worst)} ms; ${digits(gap, 0)} px`,
      '≤ 8 ms; 0 px',
      update <= 8 && gap === 0,
    ),
    row(
      'A picture while scrolling back through them, 1,200 px each',
      `median ${digits(frame)} ms`,
      '≤ 33 ms',
      frame <= 33,
    ),
    row('Opening 100,000 characters of a file', `${digits(preview, 0)} ms`, '≤ 100 ms', preview <= 100),
    row(
      'Heap after 10,000 events of one turn, and after 10,000 more',
      `${digits(after)} MiB, ${digits(later)} MiB`,
      '≤ 150 MiB; flat',
      after <= 150 && later <= after * 1.15,
    ),
  ];
}

async function measure(browser: Browser, url: string): Promise<PageFigures> {
  const page = await openPage(browser, url);
  const long = await measureLong(page);
  await page.context().close();
  const other = await openPage(browser, url);
  const previewMs = await measurePreview(other);
  const heapMiB = await measureHeap(other);
  await other.context().close();
  return { ...long, previewMs, heapMiB };
}

async function openPage(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForSelector('.page');
  await page.evaluate(`window.drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))`);
  await play(page, [boot]);
  return page;
}

async function measureLong(page: Page) {
  await play(page, [{ type: 'session_opened', sessionId: 'hsess_1' }]);
  const [layout, all] = [
    await busyOf(page, ['LayoutDuration', 'RecalcStyleDuration']),
    await busyOf(page, ['TaskDuration']),
  ];
  await page.evaluate(`gallery.play(${loaded()}); drawn()`);
  const [layoutMs, openMs] = [await layout(), await all()];
  const nodes = await page.evaluate<number>(`document.querySelectorAll('[role=log] *').length`);
  await play(page, begin());
  const times: number[] = [];
  const gaps: number[] = [];
  for (const word of answer(6_000)
    .match(/\s*\S+/g)
    ?.slice(0, 300) ?? []) {
    const [ms, gap] = await page.evaluate<[number, number]>(`(async () => {
      const log = document.querySelector('[role=log]');
      const startedAt = performance.now();
      gallery.play(${JSON.stringify(stamped(hear({ type: 'text_delta', text: word, index: 0 })))});
      // React draws when the call has returned.
      await null;
      void log.scrollHeight;
      const took = performance.now() - startedAt;
      await drawn();
      return [took, log.scrollHeight - log.clientHeight - log.scrollTop];
    })()`);
    times.push(ms);
    gaps.push(Math.floor(gap));
  }
  const frameMs = median(
    await page.evaluate<number[]>(`(async () => {
      const [log, times] = [document.querySelector('[role=log]'), []];
      let last = performance.now();
      for (let frame = 0; frame < 150; frame++) {
        log.scrollTop -= 1200;
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - last);
        last = performance.now();
      }
      return times;
    })()`),
  );
  const [updateMs, worstUpdateMs, gapPx] = [median(times), percentile(times, 100), Math.max(...gaps)];
  return { nodes, layoutMs, openMs, updateMs, worstUpdateMs, gapPx, frameMs };
}

/** What the page's main thread spends on these, in ms, from now on; of its own CPU, whatever else the machine does. */
async function busyOf(page: Page, names: readonly string[]): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.reduce((sum, { name, value }) => sum + (names.includes(name) ? value * 1_000 : 0), 0);
  };
  const before = await read();
  return async () => {
    await page.evaluate('drawn().then(drawn)');
    return (await read()) - before;
  };
}

async function measurePreview(page: Page): Promise<number> {
  const file = { id: 'file_1', object: 'file', filename: 'long.txt', bytes: 200_000, created_at: 1 };
  await page.evaluate(`gallery.play([{ type: 'files_loaded', files: [${JSON.stringify(file)}], atMs: 1 }]); drawn()`);
  await page.evaluate(`gallery.files.preview = async () => (
    { kind: 'text', text: ${JSON.stringify(codeLines(100_000))}, whole: false })`);
  return page.evaluate<number>(`(async () => {
    const startedAt = performance.now();
    gallery.dispatch({ type: 'overlay_opened', overlay: { kind: 'preview', fileId: 'file_1' } });
    while (document.querySelector('.preview pre') === null) await new Promise((done) => setTimeout(done));
    void document.querySelector('.preview').scrollHeight;
    const took = performance.now() - startedAt;
    gallery.dispatch({ type: 'overlay_closed' });
    return took;
  })()`);
}

/** Calls with their results, thinking and text by turns: what a turn of hours is made of, 300 rows in 10,000 events. */
async function measureHeap(page: Page): Promise<readonly [number, number]> {
  await play(page, begin());
  const heap = async (from: number) => {
    for (let at = from; at < from + 10_000; at += 100)
      await play(
        page,
        Array.from({ length: 100 }, (_, more) => hear(eventAt(at + more))),
      );
    const used = await page.evaluate<number>(`(async () => {
      gallery.effects.length = 0;
      for (let round = 0; round < 3; round++) { await drawn(); gc(); }
      return performance.memory.usedJSHeapSize;
    })()`);
    return used / 1024 ** 2;
  };
  const first = await heap(0);
  return [first, await heap(10_000)];
}

function eventAt(at: number): TurnEvent {
  const call = `c${Math.floor(at / 100)}`;
  switch (at % 100) {
    case 0:
      return { type: 'tool_start', id: call, name: 'read_file', index: at };
    case 1:
      return { type: 'tool_result', id: call, name: 'read_file', ok: true, summary: 'read', preview: codeLines(2_000) };
    default:
      return {
        type: at % 20 < 8 ? 'reasoning_delta' : 'text_delta',
        text: `word${at} of it. `,
        index: at - (at % 20) + 1,
      };
  }
}

const boot: ActionBody = {
  type: 'booted',
  preferences: { transport: 'task', enter: 'send', theme: 'light' },
  titles: {},
  draft: {},
};

let number = 0;

function begin(): readonly ActionBody[] {
  number = 0;
  return [
    { type: 'draft_changed', draft: 'And now?' },
    { type: 'submit', id: 'm1' },
    { type: 'sent', turn: 'm1' },
    hear({ type: 'created', responseId: 'resp_1', sessionId: 'hsess_1', model: 'm' }),
  ];
}

function hear(event: TurnEvent): ActionBody {
  const from = { kind: 'task', responseId: 'resp_1', number: number++ } as const;
  return { type: 'received', turn: 'm1', from, events: [event] };
}

function stamped(...bodies: readonly ActionBody[]): readonly Action[] {
  return bodies.map((body) => ({ ...body, atMs: 1 }));
}

async function play(page: Page, bodies: readonly ActionBody[]): Promise<void> {
  await page.evaluate(`gallery.play(${JSON.stringify(stamped(...bodies))}); drawn()`);
}

/** As the reducer is told of it. */
function loaded(): string {
  const stored = Array.from({ length: turns }, (_, at) => {
    const content = [{ type: 'output_text', text: answer(300 + (at % 5) * 50), annotations: [] }];
    const output = [{ id: 'i', type: 'message', role: 'assistant', status: 'completed', content }];
    const response = { id: `resp_h${at}`, status: 'completed', output, usage: null, metadata: {}, error: null };
    return { id: `resp_h${at}`, user: `Question ${at}`, startedMs: 1, source: { kind: 'response', response } };
  });
  const session = { id: 'hsess_1', title: 'Long', status: 'completed', created_at: 1, updated_at: 1 };
  const rest = { more: false, running: null, spent: {}, draft: {}, chips: [] };
  return JSON.stringify([{ type: 'session_loaded', atMs: 1, session, turns: stored, ...rest }]);
}
