// Kill -9 before every statement that a scripted life of runs executes, in a real child process, then open what it left.

import { expect, test } from 'vitest';
import { runIds } from '../../core/ids.ts';
import { endsLog } from '../event-shape.ts';
import type { ApprovalRecord, RunRecord, Store } from '../store.ts';
import { crashEverywhere, type Crash } from '../../testing/crash-points.ts';
import { admissionOf, pendingOf, ruleOf } from '../../testing/store-samples.ts';
import { openSqlite } from './open-sqlite.ts';

const pairs = 2;
const entrySize = 3;
const batches = 2;

/** Pairs of runs: admitted with a key, appended to in one batch per pair, ended together. Prints what was acknowledged. */
const script = `
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
`;

interface Acknowledged {
  readonly runId: string;
  readonly lastSeq: number;
}

test('L2, L4, B117: killed before any statement, a store holds every acknowledged entry, and each entry whole or not at all', async () => {
  expect(await crashEverywhere<Acknowledged>(script, checkStore)).toBeGreaterThan(40);
}, 180_000);

async function checkStore({ path, facts, killedAt }: Crash<Acknowledged>): Promise<void> {
  await using store = openSqlite(path);
  for (const { runId, lastSeq } of facts) {
    const id = runIds.parse(runId);
    const run = id === undefined ? null : await store.run(id);
    expect(run?.lastSeq, `acknowledged before statement ${killedAt}`).toBeGreaterThanOrEqual(lastSeq);
  }
  for (let pair = 0; pair < pairs; pair++) {
    const [a, b] = [await checkRun(store, `a${pair}`), await checkRun(store, `b${pair}`)];
    if (b !== null && a !== null) expect(Math.max(a.lastSeq, 1)).toBe(b.lastSeq);
  }
  expect(await store.admit(admissionOf('later'))).toMatchObject({ outcome: 'admitted' });
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

/** A run asks, parks, is decided and steered from outside, goes on and fails, while a follow-up waits behind it. */
const dialogue = `
const run = samples.admissionOf('a');
const pending = samples.pendingOf('call', run.runId);
const append = async (generation, after, drafts, end) => {
  const events = samples.stampAll(drafts, run.runId, run.sessionId);
  await store.append([{ runId: run.runId, generation, after, events, ...(end && { end }) }], { durable: true });
};
const result = (status) => samples.resultDraft(run.runId, run.sessionId, status);
const message = { ...samples.noteDraft('m'), step: 0 };
await store.putContent(run.runId, new Uint8Array(9));
await store.admit(run);
await store.enqueue(samples.queuedOf('next', run.sessionId), 9);
say('queued');
await append(1, 1, [samples.requestDraft(pending), result('awaiting-input')]);
say('parked');
await store.appendFact({ ...samples.factOf(samples.decisionDraft(pending, 'approve'), run), rule: samples.ruleOf('one') });
say('decided');
await store.appendFact(samples.factOf(message, run));
await store.takeOver(run.runId, 'there', 'waiting');
say('taken');
await append(2, 5, [result('failed')], { status: 'failed', response: null, atMs: 5 });
say('ended');
`;

test('L6, B083, E-140, E-601: killed anywhere, approvals, rules, parks and queue are what the log says, and nothing acknowledged is lost', async () => {
  expect(await crashEverywhere<string>(dialogue, checkDialogue)).toBeGreaterThan(25);
}, 180_000);

async function checkDialogue({ path, facts, killedAt }: Crash<string>): Promise<void> {
  await using store = openSqlite(path);
  const { runId, sessionId } = admissionOf('a');
  const run = await store.run(runId);
  const events = await store.readEvents(runId, { after: 0, limit: 99 });
  const has = (type: string) => events.some((event) => event.type === type);
  const approval = await store.approval(pendingOf('call', runId).approvalId);
  const [requested, decided, ended] = [has('approval-required'), has('approval-decided'), events.some(endsLog)];
  const said = [has('run-started'), requested, decided, (run?.generation ?? 0) > 1, ended];
  const acknowledged = ['queued', 'parked', 'decided', 'taken', 'ended'].map((fact) => facts.includes(fact));
  for (const [index, fact] of acknowledged.entries())
    expect(said[index] === true || !fact, `acknowledged before statement ${killedAt}`).toBe(true);
  expect(approval?.pending.status).toBe(statusBy(requested, decided));
  expect((await store.rule(ruleOf('one').ruleId)) !== null).toBe(decided);
  if (run === null) return;
  const parked = requested && run.generation === 1;
  expect(run).toMatchObject({ lastSeq: events.length, phase: parked ? 'waiting' : 'active' });
  if (!ended) expect(run.owner).toBe(ownerBy(run, parked));
  const queue = await store.queue(sessionId);
  expect([queue.held, (await store.session(sessionId))?.runningRunId]).toEqual(ended ? [true, null] : [false, runId]);
  expect(queue.tasks.length >= (facts.includes('queued') ? 1 : 0)).toBe(true);
}

function statusBy(requested: boolean, decided: boolean): ApprovalRecord['pending']['status'] | undefined {
  if (!requested) return undefined;
  return decided ? 'approved' : 'pending';
}

function ownerBy({ generation }: RunRecord, parked: boolean): string | null {
  if (parked) return null;
  return generation === 1 ? 'here' : 'there';
}
