import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { reins, root } from './reins-process.ts';

describe('wrong use ends with 2 and one sentence on stderr', () => {
  test.each([
    [[], 'Usage: reins VERB'],
    [['sevre'], "no verb 'sevre'"],
    [['--sevre'], "no option '--sevre'"],
    [['serve', '--prot', '1'], '--prot'],
    [['serve', '--port'], '--port'],
    [['serve', '--port', 'x'], '--port is wrong: a port is a whole number from 0 to 65535.'],
    [['serve', '--port', '-1'], '--port needs a value'],
    [['serve', '--port=-1'], '--port is wrong'],
    [['run', '--frob'], "there is no option '--frob' here.\nSee: reins run --help"],
    [['serve', '--host', '0.0.0.0'], 'REINS_API_KEY'],
    [['serve', 'now'], "'now' is one word too many"],
    [['serve', '--config', '/nonexistent/c.json'], '/nonexistent/c.json is not there'],
    [['run', 'two', 'words'], 'quotes'],
    [['run', ''], 'empty'],
    [['run', '-'], 'empty'],
    [['run', 'x', '--cwd', '/nonexistent'], '/nonexistent'],
    [['run', 'x', '--json=yes'], '--json'],
    [['doctor', 'x'], "'x' is one word too many"],
  ])('reins %j', async (args, sentence) => {
    const { code, stdout, stderr } = await reins(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe('help and version go to stdout and end with 0', () => {
  test.each([
    [['--help'], /serve[^]*run[^]*doctor/],
    [['serve', '--help'], /--port/],
    [['run', '-h'], /--harness/],
    [['help', 'run'], /--harness/],
    [['doctor', '--help'], /--json/],
    [['--version'], /^\d+\.\d+\.\d+\n$/],
  ])('reins %j', async (args, text) => {
    const { code, stdout, stderr } = await reins(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(text);
  });
});

const startWriting = () =>
  spawn(process.execPath, [`${root}test/fixtures/write-much.ts`], { stdio: ['ignore', 'pipe', 'inherit'] });

describe('B138: output and exit', () => {
  test('a megabyte before a non-zero exit gets out whole to a slow reader', async () => {
    const child = startWriting();
    const ended = once(child, 'exit');
    let bytes = 0;
    for await (const chunk of child.stdout) {
      bytes += (chunk as Buffer).length;
      await turn();
    }
    expect(bytes).toBe(1_000_001);
    expect(await ended).toEqual([3, null]);
  });

  test('a reader that leaves changes nothing of the exit code and makes no noise', async () => {
    const child = startWriting();
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    child.stdout.destroy();
    expect(await ended).toEqual([3, null]);
  });
});
