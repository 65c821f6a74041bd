import { expect, onTestFinished, test } from 'vitest';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

test('server.pid and server.url name who answered last; when it goes, another one that still answers; a server that never did, nobody', () => {
  const path = folder();
  const found = () =>
    ['server.pid', 'server.url'].map((name) =>
      existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8').trim() : null,
    );
  const [first, second, refused] = [openDataFolder(path), openDataFolder(path), openDataFolder(path)];
  expect(found()).toEqual([null, null]);
  first.announce('http://127.0.0.1:4242');
  refused[Symbol.dispose]();
  expect(found()).toEqual([`${process.pid}`, 'http://127.0.0.1:4242']);
  second.announce('http://127.0.0.1:4244');
  expect(found()).toEqual([`${process.pid}`, 'http://127.0.0.1:4244']);
  second[Symbol.dispose]();
  expect(found()).toEqual([`${process.pid}`, 'http://127.0.0.1:4242']);
  // Of a process that is gone without a word.
  writeFileSync(join(path, 'servers', '999999999-1'), 'http://127.0.0.1:1\n');
  first[Symbol.dispose]();
  expect(found()).toEqual([null, null]);
  expect(readdirSync(join(path, 'servers'))).toEqual([]);
});
