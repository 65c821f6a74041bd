import { answer, codeLines, cut } from './texts.ts';
import { launchChromium } from './launch-chromium.ts';
import type { Page } from 'playwright-core';
import { digits, type Benchmark, type Row } from '../row.ts';
import { median } from '../statistics.ts';
import { servePage } from './serve-page.ts';

interface Figures {
  /** Of the page's main thread: script, layout, painting. */
  readonly totalSeconds: number;
  readonly updatesMs: readonly number[];
}

/** Row 11: an answer that grows in the console, an update a frame (C-081). */
export const markdown: Benchmark = async ({ quick }) => {
  await using served = await servePage();
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(served.url);
    const measure = async (pieces: readonly string[], opensCode = false) => {
      const runs: Figures[] = [];
      for (let run = 0; run < (quick ? 1 : 3); run++) runs.push(await measureOnce(page, pieces, opensCode));
      return middle(runs);
    };
    const fence = cut('```ts\n' + codeLines(192_000) + '\n```\n', 97);
    return [
      markdownRow(await measure(cut(answer(120_000), 301))),
      fenceRow('folded', await measure(fence)),
      fenceRow('unfolded', await measure(fence, true)),
    ];
  } finally {
    await browser.close();
  }
};

function markdownRow({ totalSeconds, updatesMs }: Figures): Row {
  const [middleMs, worstMs] = [median(updatesMs), Math.max(...updatesMs)];
  return {
    what: '11 Markdown of the console: 120 kB in 301 updates',
    bare: '–',
    reins: `${digits(totalSeconds)} s; an update: median ${digits(middleMs)} ms, worst ${digits(worstMs)} ms`,
    ratio: '–',
    target: '≤ 7 s; ≤ 20 ms, ≤ 200 ms',
    met: totalSeconds <= 7 && middleMs <= 20 && worstMs <= 200,
  };
}

function fenceRow(how: string, { totalSeconds, updatesMs }: Figures): Row {
  return {
    what: `11 Code of 192 kB in 97 updates, ${how}`,
    bare: '–',
    reins: `${digits(totalSeconds)} s; worst update ${digits(Math.max(...updatesMs))} ms`,
    ratio: '–',
    target: '≤ 4.5 s',
    met: totalSeconds <= 4.5,
  };
}

function middle(runs: readonly Figures[]): Figures {
  const sorted = runs.toSorted((one, other) => one.totalSeconds - other.totalSeconds);
  const found = sorted[Math.floor(sorted.length / 2)];
  if (found === undefined) throw new Error('Nothing was measured.');
  return found;
}

async function measureOnce(page: Page, pieces: readonly string[], opensCode: boolean): Promise<Figures> {
  const session = await page.context().newCDPSession(page);
  // Of its own CPU, whatever else the machine does.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
  };
  const before = await busy();
  const updatesMs = await page.evaluate<readonly number[]>(
    `stage.measure(${JSON.stringify(pieces)}, ${String(opensCode)})`,
  );
  return { totalSeconds: (await busy()) - before, updatesMs };
}
