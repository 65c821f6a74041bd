import { createPartsView } from '../../src/views/parts-view.ts';
import { createLogBuilder } from '../../src/testing/log-builder.ts';
import { digits, type Benchmark, type Row } from '../row.ts';
import { median } from '../statistics.ts';
import { translatePart, type StreamPart } from '../../src/protocol/parts/index.ts';
import type { RunEvent } from '../../src/core/run-event.ts';

const steps = 200;
const deltas = 100;

/** Row 12: a run as stream parts, and its parts as chunks, beside `JSON.stringify` of the same events. */
export const parts: Benchmark = async ({ quick }) => {
  const log = longLog();
  const shown = fold(log, false);
  const work: Readonly<Record<string, () => unknown>> = {
    json: () => log.map((event) => JSON.stringify(event)),
    plain: () => fold(log, false),
    kept: () => fold(log, true),
    chunks: () => shown.map((part) => translatePart(part)),
  };
  const micros = new Map(Object.keys(work).map((name): [string, number[]] => [name, []]));
  for (let round = -2; round < (quick ? 5 : 20); round++)
    for (const [name, run] of Object.entries(work)) {
      const before = process.cpuUsage();
      run();
      const { user, system } = process.cpuUsage(before);
      if (round >= 0) micros.get(name)?.push((user + system) / log.length);
    }
  const of = (name: string) => median(micros.get(name) ?? []);
  const row = (what: string, name: string): Row => ({
    what: `12 ${what}; bare: \`JSON.stringify\` of the events`,
    bare: `${digits(of('json'), 2)} µs an event`,
    reins: `${digits(of(name), 2)} µs an event`,
    ratio: digits(of(name) / of('json'), 2),
    target: '–',
    met: null,
  });
  return [
    row('A run as stream parts', 'plain'),
    row('The same with the envelope', 'kept'),
    row('These parts as chunks (`translatePart`)', 'chunks'),
  ];
};

function fold(log: readonly RunEvent[], envelope: boolean): readonly StreamPart[] {
  const view = createPartsView({ envelope });
  return log.flatMap((event) => view.push(event));
}

function longLog(): readonly RunEvent[] {
  const log = createLogBuilder();
  log.start();
  const pieces = Array.from({ length: deltas }, (_, index) => `word ${index} `);
  for (let step = 0; step < steps; step++)
    log.step({
      blocks: [
        { kind: 'text', pieces },
        { kind: 'call', id: `c${step}`, pieces: ['{"path":', '"a.ts"}'], outcome: 'ok', content: 'x'.repeat(200) },
      ],
    });
  log.end({ status: 'completed', stopReason: 'end-turn' });
  return log.events;
}
