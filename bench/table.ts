import { availableParallelism, cpus } from 'node:os';
import type { Row } from './row.ts';

/** Where and how long it was measured, and the rows. */
export function printTable(rows: readonly Row[], startedAtMs: number): void {
  const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
  const machine = `${cpus()[0]?.model ?? 'unknown CPU'}, ${availableParallelism()} cores`;
  console.log(`${machine}, Node ${process.version}, ${seconds} s\n`);
  console.log('| | bare | Reins | ratio | target | |\n|---|---|---|---|---|---|');
  for (const { what, bare, reins, ratio, target, met } of rows)
    console.log(
      `| ${what} | ${bare} | ${reins} | ${ratio} | ${target} | ${met === null ? '' : met ? 'met' : '**missed**'} |`,
    );
}
