import { expect, onTestFinished, test } from 'vitest';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDataFolder } from './data-folder.ts';
import { tmpdir } from 'node:os';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'reins-data-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('D1: what two servers do alone they do one after the other, also where one fails', async () => {
  const path = folder();
  const [one, two] = [openDataFolder(path), openDataFolder(path)];
  const steps: string[] = [];
  const work = (name: string) => async () => {
    steps.push(`${name} begins`);
    await new Promise((resolve) => setTimeout(resolve, 60));
    steps.push(`${name} ends`);
    if (name === 'one') throw new Error('It fails.');
    return name;
  };
  const [failed, done] = await Promise.allSettled([one.alone(work('one')), two.alone(work('two'))]);
  expect(steps).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  expect([failed.status, done]).toEqual(['rejected', { status: 'fulfilled', value: 'two' }]);
});

test('server.pid names who started last, and goes with it alone', () => {
  const path = folder();
  const pidFile = join(path, 'server.pid');
  const first = openDataFolder(path);
  expect(readFileSync(pidFile, 'utf8')).toBe(`${process.pid}\n`);
  writeFileSync(pidFile, '1\n');
  first[Symbol.dispose]();
  expect(readFileSync(pidFile, 'utf8')).toBe('1\n');
  openDataFolder(path)[Symbol.dispose]();
  expect(existsSync(pidFile)).toBe(false);
});
