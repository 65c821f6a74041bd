import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const play = async (name: string) => {
  const env = { ...process.env, REINS_DEMO_SPEED: 'full' };
  return (await run(process.execPath, [`examples/${name}.ts`], { env })).stdout;
};

test('examples/stream-text shows the answer as it comes', async () => {
  expect(await play('stream-text')).toBe('1\n2\n3\n4\n5\n');
});

test('examples/tool-calls shows the call being written, run and answered, and the verdict', async () => {
  const output = await play('tool-calls');
  expect(output).toMatch(/writing a call to read_file[^]*running read_file[^]*characters back[^]*verdict: ok/);
});

test('examples/server-in-process drops a stream and reads the rest without a gap', async () => {
  expect(await play('server-in-process')).toContain('"3"');
});
