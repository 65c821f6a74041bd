// Row 13: the whole page of the console in Chromium (C-081), its panels over its own reducer with no server behind them. Stored
// history is of 682 turns: what was asked, an answer with headings, lists, a table and code, an end line; 2,046 rows.

import { answer, codeLines, cut } from './texts.ts';
import { digits, type Benchmark, type Row } from '../row.ts';
import { fileURLToPath } from 'node:url';
import { launchChromium } from './launch-chromium.ts';
import { median } from '../statistics.ts';
import { servePage } from './serve-page.ts';
import type { Action, ActionBody } from '../../src/console/state/action.ts';
import type { Browser, Page } from 'playwright-core';
import type { TurnEvent } from '../../src/console/state/turn-event.ts';

const gallery = fileURLToPath(new URL('../../src/console/gallery', import.meta.url));
const turns = 682;
/** How much slower the machine is taken to be where it is throttled. */
const slower = 4;

export const wholePage: Benchmark = async ({ quick }) => {
  await using served = await servePage(gallery);
  const browser = await launchChromium();
  try {
    const runs: PageFigures[] = [];
    for (let run = 0; run < (quick ? 1 : 3); run++) runs.push(await measure(browser, served.url));
    return rowsOf((figure) => median(runs.map((each) => each[figure])));
  } finally {
    await browser.close();
  }
};

type PageFigures = Readonly<Record<Figure, number>>;
type Figure =
  | 'nodes'
  | 'layoutMs'
  | 'openMs'
  | 'updateMs'
  | 'worstUpdateMs'
  | 'gapPx'
  | 'longMs'
  | 'slowLongMs'
  | 'worstLongMs'
  | 'frameMs'
  | 'previewMs'
  | HeapFigure;
type HeapFigure = 'heapMiB' | 'laterHeapMiB' | 'fullHeapMiB' | 'beyondHeapMiB';

function rowsOf(of: (figure: Figure) => number): readonly Row[] {
  const whole = (figure: Figure) => Math.round(of(figure)).toLocaleString('en-GB');
  const row = (what: string, told: Pick<Row, 'reins' | 'target' | 'met'>): Row => ({
    ...told,
    what: `13 ${what}`,
    bare: '–',
    ratio: '–',
  });
  return [
    row(`${turns * 3} rows, ${turns} rich answers, ${whole('nodes')} nodes: first layout; with all that leads to it`, {
      reins: `${whole('layoutMs')} ms; ${whole('openMs')} ms`,
      target: '≤ 800 ms',
      met: of('layoutMs') <= 800,
    }),
    row('A token at the end of them, of 300: script and layout; gap at the end', {
      reins: `median ${digits(of('updateMs'))} ms, worst ${digits(of('worstUpdateMs'))} ms; ${whole('gapPx')} px`,
      target: '≤ 8 ms; 0 px',
      met: of('updateMs') <= 8 && of('gapPx') === 0,
    }),
    row('There, 200 kB in 20,000 pieces, 67 a picture, with a quarter of the CPU: each picture', {
      reins: `median ${whole('longMs')} ms, of 100 slowest but one ${whole('slowLongMs')} ms, worst ${whole('worstLongMs')} ms`,
      target: 'worst ≤ 100 ms',
      met: of('worstLongMs') <= 100,
    }),
    row('A picture while scrolling back through them, 400 px each', {
      reins: `median ${digits(of('frameMs'))} ms`,
      target: '≤ 33 ms',
      met: of('frameMs') <= 33,
    }),
    row('Opening 100,000 characters of a file', {
      reins: `${whole('previewMs')} ms`,
      target: '≤ 100 ms',
      met: of('previewMs') <= 100,
    }),
    row('Heap, with elements and layout, after 10,000 events of one turn, 300 rows; after 10,000 more, 300 more rows', {
      reins: `${digits(of('heapMiB'))} MiB; ${digits(of('laterHeapMiB'))} MiB`,
      target: '≤ 150 MiB; flat',
      met: of('heapMiB') <= 150 && of('laterHeapMiB') <= of('heapMiB') * 1.25,
    }),
    row('The same with all the rows that it ever shows, after 70,000 events; after 10,000 more', {
      reins: `${digits(of('fullHeapMiB'))} MiB; ${digits(of('beyondHeapMiB'))} MiB`,
      target: '≤ 150 MiB; flat',
      met: of('fullHeapMiB') <= 150 && of('beyondHeapMiB') <= of('fullHeapMiB') * 1.05,
    }),
  ];
}

async function measure(browser: Browser, url: string): Promise<PageFigures> {
  const page = await openPage(browser, url);
  const long = await measureLong(page);
  await page.context().close();
  const other = await openPage(browser, url);
  const previewMs = await measurePreview(other);
  const heap = await measureHeap(other);
  await other.context().close();
  return { ...long, previewMs, ...heap };
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
    await meter(page, ['LayoutDuration', 'RecalcStyleDuration']),
    await meter(page, ['TaskDuration']),
  ];
  await page.evaluate(`gallery.play(${loaded()}); drawn().then(drawn).then(drawn)`);
  const [layoutMs, openMs] = [await layout(), await all()];
  const nodes = await page.evaluate<number>(`document.querySelectorAll('[role=log] *').length`);
  await play(page, begin());
  const words = answer(6_000).match(/\s*\S+/g) ?? [];
  const updates = await measureUpdates(page, words.slice(0, 300));
  const long = (await measurePictures(page, cut(answer(200_000), 20_000), 67)).toSorted((one, other) => other - one);
  const frameMs = median(await measureScrolling(page));
  const [updateMs, worstUpdateMs, gapPx] = [median(updates.timesMs), Math.max(...updates.timesMs), updates.gapPx];
  const [longMs, slowLongMs = 0, worstLongMs = 0] = [median(long), long[Math.floor(long.length / 100)], long[0]];
  return { nodes, layoutMs, openMs, updateMs, worstUpdateMs, gapPx, longMs, slowLongMs, worstLongMs, frameMs };
}

/** A piece each: the call and the layout after it, by the clock; how far from the end it leaves the reader. */
async function measureUpdates(page: Page, pieces: readonly string[]) {
  const timesMs: number[] = [];
  let gapPx = 0;
  for (const text of pieces) {
    const heard = stamped(hear({ type: 'text_delta', text, index: 0 }));
    const [ms, gap] = await page.evaluate<[number, number]>(`(async () => {
      const log = document.querySelector('[role=log]');
      const startedAt = performance.now();
      gallery.play(${JSON.stringify(heard)});
      // React draws when the call has returned.
      await null;
      void log.scrollHeight;
      const took = performance.now() - startedAt;
      await drawn();
      return [took, log.scrollHeight - log.clientHeight - log.scrollTop];
    })()`);
    timesMs.push(ms);
    gapPx = Math.max(gapPx, Math.floor(gap));
  }
  return { timesMs, gapPx };
}

/**
 * All that the main thread does for each picture: script, style, layout, painting, collecting garbage. In its own CPU time, which
 * other work on the machine does not lengthen, times what the machine is slower.
 * @param joined  So many pieces come between two pictures.
 */
async function measurePictures(page: Page, pieces: readonly string[], joined: number): Promise<readonly number[]> {
  const heard = pieces.map((text) => hear({ type: 'text_delta', text, index: 0 }));
  const pictures = Array.from({ length: Math.ceil(heard.length / joined) }, (_, at) =>
    stamped(...heard.slice(at * joined, (at + 1) * joined)),
  );
  // They are there before: what hands them over is no part of the page.
  await give(page, pictures);
  const busy = await meter(page, ['TaskDuration']);
  const timesMs: number[] = [];
  for (const at of pictures.keys()) {
    await page.evaluate(`gallery.play(given[${at}]); drawn()`);
    timesMs.push((await busy()) * slower);
  }
  return timesMs;
}

function measureScrolling(page: Page): Promise<readonly number[]> {
  return page.evaluate<number[]>(`(async () => {
    const [log, times] = [document.querySelector('[role=log]'), []];
    let last = performance.now();
    for (let frame = 0; frame < 150; frame++) {
      log.scrollTop -= 400;
      await new Promise(requestAnimationFrame);
      times.push(performance.now() - last);
      last = performance.now();
    }
    return times;
  })()`);
}

/** What the page's main thread has spent on these since it was asked last, in ms of its own CPU. */
async function meter(page: Page, names: readonly string[]): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.reduce((sum, { name, value }) => sum + (names.includes(name) ? value * 1_000 : 0), 0);
  };
  let last = await read();
  return async () => {
    const before = last;
    last = await read();
    return last - before;
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
async function measureHeap(page: Page): Promise<Readonly<Record<HeapFigure, number>>> {
  const session = await page.context().newCDPSession(page);
  await play(page, begin());
  let heard = 0;
  const heapAfter = async (events: number) => {
    for (; heard < events; heard += 100)
      await play(
        page,
        Array.from({ length: 100 }, (_, more) => hear(eventAt(heard + more))),
      );
    await page.evaluate('gallery.effects.length = 0; drawn().then(drawn)');
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize, embedderHeapUsedSize } = await session.send('Runtime.getHeapUsage');
    return (usedSize + embedderHeapUsedSize) / 1024 ** 2;
  };
  return {
    heapMiB: await heapAfter(10_000),
    laterHeapMiB: await heapAfter(20_000),
    fullHeapMiB: await heapAfter(70_000),
    beyondHeapMiB: await heapAfter(80_000),
  };
}

function eventAt(at: number): TurnEvent {
  const call = `c${Math.floor(at / 100)}`;
  const word = (of: number) => `word${of} of it. `;
  switch (at % 100) {
    case 0:
      return { type: 'tool_start', id: call, name: 'read_file', index: at };
    case 1:
      return { type: 'tool_result', id: call, name: 'read_file', ok: true, summary: 'read', preview: codeLines(2_000) };
    case 99:
      return {
        type: 'text_whole',
        text: Array.from({ length: 59 }, (_, more) => word(at - 59 + more)).join(''),
        index: at - 99,
      };
    default:
      return { type: at % 100 < 40 ? 'reasoning_delta' : 'text_delta', text: word(at), index: at - (at % 100) };
  }
}

const boot: ActionBody = {
  type: 'booted',
  preferences: { transport: 'task', enter: 'send', theme: 'light' },
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
  await give(page, stamped(...bodies));
  await page.evaluate('gallery.play(given); drawn()');
}

/** `given` in the page. Not in the source of what is evaluated: the browser keeps that for a while. */
async function give(page: Page, given: unknown): Promise<void> {
  await page.evaluate((value) => void Object.assign(globalThis, { given: value }), given);
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
