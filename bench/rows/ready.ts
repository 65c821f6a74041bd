import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { benchKey } from '../bench-key.ts';
import { digits, type Benchmark } from '../row.ts';
import { temporaryFolder } from '../server-pair.ts';
import { median } from '../statistics.ts';

const program = fileURLToPath(new URL('../../bin/reins.js', import.meta.url));

/** Row 7: from the start of `reins serve` to the line that says it listens. */
export const ready: Benchmark = async ({ quick }) => {
  using folder = temporaryFolder();
  const [bare, reins] = [new Array<number>(), new Array<number>()];
  for (let round = -1; round < (quick ? 5 : 11); round++) {
    const empty = await timeToOutput(['--eval', 'console.log()']);
    const serve = await timeToOutput([program, 'serve', '--data', folder.path, '--port', '0']);
    if (round < 0) continue; // The first one makes the database.
    bare.push(empty);
    reins.push(serve);
  }
  return [
    {
      what: '7 Ready after `reins serve`; bare: Node with an empty program',
      bare: `${digits(median(bare), 0)} ms`,
      reins: `${digits(median(reins), 0)} ms`,
      ratio: digits(median(reins) / median(bare)),
      target: '< 1,000 ms',
      met: median(reins) < 1_000,
    },
  ];
};

async function timeToOutput(args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const env = { ...process.env, REINS_API_KEY: benchKey };
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'], env });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  const elapsed = performance.now() - startedAt;
  child.kill();
  await exited;
  return elapsed;
}
