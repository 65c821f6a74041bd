import { expect, onTestFinished, test } from 'vitest';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { openDataFolder } from './data-folder.ts';
import { spawn } from 'node:child_process';
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

test('D1: the lock of a process that is killed is free at once, though what it had started lives on', async () => {
  const path = folder();
  const program = `
    import { openDataFolder } from ${JSON.stringify(join(import.meta.dirname, 'data-folder.ts'))};
    import { spawn } from 'node:child_process';
    await openDataFolder(${JSON.stringify(path)}).alone(async () => {
      const { pid } = spawn('sleep', ['30'], { detached: true, stdio: 'ignore' });
      process.stdout.write(String(pid));
      await new Promise(() => setInterval(() => {}, 1_000));
    });`;
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', program]);
  const [pid] = await once(holder.stdout, 'data');
  onTestFinished(() => void process.kill(Number(pid), 'SIGKILL'));
  const steps: string[] = [];
  const next = openDataFolder(path).alone(async () => void steps.push('mine'));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(steps).toEqual([]);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const killedMs = performance.now();
  await next;
  expect(performance.now() - killedMs).toBeLessThan(1_000);
  expect(process.kill(Number(pid), 0)).toBe(true);
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

test('D3: a folder that cannot be made is refused, also where the file system lets nothing be made; below others it is', () => {
  const path = folder();
  writeFileSync(join(path, 'file'), '');
  for (const wrong of ['/proc/no-such-folder/data', join(path, 'file'), join(path, 'file', 'data')])
    expect(() => openDataFolder(wrong), wrong).toThrow(`The data folder ${wrong} cannot be made: `);
  expect(() => openDataFolder(join(path, 'one', 'two'))).not.toThrow();
  expect(existsSync(join(path, 'one', 'two', 'reins.db'))).toBe(true);
});
