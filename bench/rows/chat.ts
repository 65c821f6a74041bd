// Row 11: what it costs to tell a run as UI messages, beside the least that can be done: making the JSON of those chunks.

import { createUiView } from '../../src/views/ui-view.ts';
import { digits, type Benchmark } from '../row.ts';
import { encodeUiChunk } from '../../src/protocol/ui/encode-chunk.ts';
import { median } from '../statistics.ts';
import { type EventDraft, type RunEvent } from '../../src/core/run-event.ts';
import { noBudgets } from '../../src/core/run-config.ts';
import { runIds, sessionIds } from '../../src/core/ids.ts';

const deltas = 100_000;
const runId = runIds.make('bench');
const model = { provider: 'bench', model: 'bench' };

export const chat: Benchmark = async ({ quick }) => {
  const log = logOf();
  const view = createUiView(runId);
  const chunks = log.flatMap((event) => view.push(event));
  const rounds = quick ? 3 : 11;
  const bare: number[] = [];
  const own: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const stringified = measure(() => chunks.reduce((sum, chunk) => sum + JSON.stringify(chunk).length, 0));
    const told = measure(() => {
      const fresh = createUiView(runId);
      let length = 0;
      for (const event of log) for (const chunk of fresh.push(event)) length += encodeUiChunk(chunk).length;
      return length;
    });
    if (round === 0) continue; // It warms up.
    bare.push(stringified);
    own.push(told);
  }
  const ratio = median(own.map((micros, index) => micros / (bare[index] ?? Number.NaN)));
  return [
    {
      what: `11 A delta told as a chunk of a UI message, ${deltas.toLocaleString('en')} in a reply; bare: its JSON`,
      bare: `${digits(median(bare), 2)} µs`,
      reins: `${digits(median(own), 2)} µs`,
      ratio: digits(ratio, 2),
      target: '≤ 3',
      met: ratio <= 3,
    },
  ];
};

function measure(work: () => number): number {
  const before = process.cpuUsage();
  if (work() === 0) throw new Error('Nothing was told.');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / deltas;
}

function logOf(): readonly RunEvent[] {
  const place = { step: 1, attempt: 1, block: 0 };
  const drafts: EventDraft[] = [
    { ...place, type: 'run-started', data: { leg: 1, cause: 'submit', model, limits: noBudgets } },
    { ...place, type: 'step-started', data: { purpose: 'reply', model, replyBudget: null } },
    ...Array.from({ length: deltas }, (_, index): EventDraft => ({
      ...place,
      type: 'text-delta',
      data: ` word${index}`,
    })),
  ];
  const sessionId = sessionIds.make('bench');
  return drafts.map((draft, index) => ({ v: 1, seq: index + 1, runId, sessionId, at: 0, leg: 1, ...draft }));
}
