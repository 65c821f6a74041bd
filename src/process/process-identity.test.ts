import { expect, onTestFinished, test } from 'vitest';
import { lookAtProcess, thisProcess } from './process-identity.ts';
import { once } from 'node:events';
import { readEntry } from './process-tree.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { spawn } from 'node:child_process';

const own = thisProcess();

/** A process of the same place that prints a line and waits. */
async function startOther(script: string) {
  const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return { child, pid: Number(said) };
}
const identityOf = (pid: number) => ({ ...own, pid, startTicks: readEntry(pid)?.startTicks ?? null });

test('E-826: this process is alive, also when it is stopped; one that has ended is dead', async () => {
  expect(lookAtProcess(own)).toBe('alive');
  const { child, pid } = await startOther('echo $$; exec sleep 60');
  const other = identityOf(pid);
  expect(lookAtProcess(other)).toBe('alive');
  child.kill('SIGSTOP');
  expect(lookAtProcess(other)).toBe('alive');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(lookAtProcess(other)).toBe('dead');
});

test('I2: one that is killed and that nobody has taken note of is dead', async () => {
  const { child, pid } = await startOther('sleep 60 & echo $!; exec sleep 61');
  const until = async (holds: () => boolean) => {
    for (let round = 0; round < 400 && !holds(); round++) await pause(10);
    expect(holds()).toBe(true);
  };
  // From then on the parent waits for nobody: what it started is a zombie until it goes itself.
  await until(() => readEntry(child.pid ?? 0)?.name === 'sleep');
  const zombie = identityOf(pid);
  process.kill(pid, 'SIGKILL');
  await until(() => readEntry(pid)?.state === 'Z');
  expect(lookAtProcess(zombie)).toBe('dead');
});

test('I1: a later process of the same pid is another one', () => {
  expect(lookAtProcess({ ...own, startTicks: (own.startTicks ?? 0) - 1 })).toBe('dead');
});

test('I3: another boot, another pid namespace, or a system that tells nothing: unseen, unless the pid is free', async () => {
  expect(lookAtProcess(own, 'elsewhere')).toBe('unseen');
  expect(lookAtProcess({ ...own, startTicks: null })).toBe('unseen');
  const { child, pid } = await startOther('echo $$');
  if (child.exitCode === null) await once(child, 'exit');
  expect(lookAtProcess({ ...own, pid, startTicks: null })).toBe('dead');
});

test('a process of another user counts as there', () => {
  // The first process of the system, or of this container: never this one.
  expect(lookAtProcess({ ...identityOf(1), startTicks: readEntry(1)?.startTicks ?? null })).not.toBe('dead');
});
