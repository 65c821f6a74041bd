// Kill -9 before every statement that a scripted life of runs executes, in a real child process, then open what it left.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { runIds } from '../../core/ids.ts';
import { endsLog } from '../event-shape.ts';
import type { RunRecord, Store } from '../store.ts';
import { admissionOf } from '../../testing/store-samples.ts';
import { openSqlite } from './open-sqlite.ts';

const pairs = 2;
const entrySize = 3;
const batches = 2;

/** Pairs of runs: admitted with a key, appended to in one batch per pair, ended together. Prints what was acknowledged. */
const script = `
import { writeSync } from 'node:fs';
import { openSqlite } from ${JSON.stringify(import.meta.resolve('./open-sqlite.ts'))};
import * as samples from ${JSON.stringify(import.meta.resolve('../../testing/store-samples.ts'))};
const [path, killAt] = process.argv.slice(1);
let statements = 0;
const store = openSqlite(path, {
  onStatement() {
    if (++statements === Number(killAt)) process.kill(process.pid, 'SIGKILL');
  },
});
const say = (fact) => writeSync(1, JSON.stringify(fact) + '\\n');
for (let pair = 0; pair < ${pairs}; pair++) {
  const runs = ['a', 'b'].map((side) => samples.admissionOf(side + pair, { idempotency: { key: side + pair, bodyHash: 'h' } }));
  for (const run of runs) {
    await store.admit(run);
    say({ runId: run.runId, lastSeq: 1 });
  }
  const append = async (drafts, after, end) => {
    const entries = runs.map(({ runId, sessionId }) => {
      const events = samples.stampAll([...drafts, ...(end ? [samples.resultDraft(runId, sessionId)] : [])], runId, sessionId);
      return { runId, generation: 1, after, events, ...(end && { end }) };
    });
    await store.append(entries, { durable: pair % 2 === 0 });
    for (const run of runs) say({ runId: run.runId, lastSeq: after + entries[0].events.length });
  };
  const drafts = [samples.textDraft('one'), samples.textDraft('two'), samples.noteDraft('three')];
  for (let batch = 0; batch < ${batches}; batch++) await append(drafts, 1 + batch * ${entrySize});
  await append([], 1 + ${batches * entrySize}, { status: 'completed', response: { output: 'done' }, atMs: 5 });
}
say({ statements });
`;

interface Child {
  readonly signal: NodeJS.Signals | null;
  readonly facts: readonly { readonly runId?: string; readonly lastSeq?: number; readonly statements?: number }[];
}

async function runChild(path: string, killAt: number): Promise<Child> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, path, String(killAt)]);
  const exit = new Promise<NodeJS.Signals | null>((resolve) => child.on('exit', (_, signal) => resolve(signal)));
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(errors.replaceAll(/^.*(?:ExperimentalWarning|--trace-warnings).*$/gm, '').trim()).toBe('');
  return { signal: await exit, facts: out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])) };
}

async function inFolder<T>(body: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'reins-crash-'));
  try {
    return await body(join(folder, 'reins.db'));
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('L2, L4, B117: killed before any statement, a store holds every acknowledged entry, and each entry whole or not at all', async () => {
  const whole = await inFolder((path) => runChild(path, 0));
  const statements = whole.facts.at(-1)?.statements ?? 0;
  expect(statements).toBeGreaterThan(40);
  const kills = Array.from({ length: statements }, (_, index) => index + 1);
  const next = async (): Promise<void> => {
    for (let killAt = kills.pop(); killAt !== undefined; killAt = kills.pop()) await killAndCheck(killAt);
  };
  await Promise.all([next(), next(), next()]);
}, 180_000);

async function killAndCheck(killAt: number): Promise<void> {
  await inFolder(async (path) => {
    const { signal, facts } = await runChild(path, killAt);
    expect(signal).toBe('SIGKILL');
    await using store = openSqlite(path);
    for (const { runId = '', lastSeq = 0 } of facts) {
      const id = runIds.parse(runId);
      const run = id === undefined ? null : await store.run(id);
      expect(run?.lastSeq, `acknowledged before statement ${killAt}`).toBeGreaterThanOrEqual(lastSeq);
    }
    for (let pair = 0; pair < pairs; pair++) {
      const [a, b] = [await checkRun(store, `a${pair}`), await checkRun(store, `b${pair}`)];
      if (b !== null && a !== null) expect(Math.max(a.lastSeq, 1)).toBe(b.lastSeq);
    }
    expect(await store.admit(admissionOf('later'))).toMatchObject({ outcome: 'admitted' });
  });
}

/** The run and all that belongs to it are there together, or nothing of it is. */
async function checkRun(store: Store, name: string): Promise<RunRecord | null> {
  const { runId, sessionId } = admissionOf(name);
  const run = await store.run(runId);
  const [session, claim] = [await store.session(sessionId), await store.idempotency('owner', name)];
  const events = await store.readEvents(runId, { after: 0, limit: 99 });
  expect([session !== null, claim !== null, events.length > 0]).toEqual(Array.from({ length: 3 }, () => run !== null));
  if (run === null) return null;
  expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: run.lastSeq }, (_, index) => index + 1));
  const ended = events.some(endsLog);
  expect((events.length - 1 - (ended ? 1 : 0)) % entrySize).toBe(0);
  expect(run).toMatchObject(
    ended ? { status: 'completed', response: { output: 'done' } } : { status: 'running', response: null },
  );
  expect(session?.runningRunId).toBe(ended ? null : runId);
  return run;
}
