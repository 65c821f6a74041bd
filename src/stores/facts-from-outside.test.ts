// Facts from outside meet a writer at work: in every order, told once, and never behind an end (Q4 to Q6, G6, E-661).

import * as fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { RuntimeStateError, StorageError } from '../core/errors.ts';
import { isLive, type EventDraft, type RunEvent } from '../core/run-event.ts';
import { checkLog } from '../testing/check-log.ts';
import { end, ending, logRig, read, seqs, upTo, type LogRig, type OpenedRun } from '../testing/log-rig.ts';
import { admissionOf, factOf, noteDraft, resultDraft, stampAll, textDraft } from '../testing/store-samples.ts';
import { createRunLog } from './run-log.ts';
import { openSqlite } from './sqlite/open-sqlite.ts';
import { silentLogger } from '../core/logger.ts';
import type { Store } from './store.ts';
import type { Admission } from './admission.ts';

const opened: Store[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store[Symbol.asyncDispose]();
});

function rig(faults?: (store: Store) => Partial<Store>): LogRig {
  const store = openSqlite(':memory:');
  opened.push(store);
  return logRig(store, faults);
}

/** A committed event that only an owner writes. */
const stepDraft = (text: string): EventDraft => ({
  type: 'file-changed',
  step: 1,
  attempt: 0,
  data: { kind: 'create', path: text },
});
const steering = (admission: Admission, id: string) => factOf(noteDraft(id), admission);
const types = (events: readonly RunEvent[]) => events.map(({ type }) => type);
const parkDraft = ({ runId, sessionId }: Admission) => resultDraft(runId, sessionId, 'paused');

async function stored(log: LogRig['log'], { runId }: Admission): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const batch of log.readAll(runId)) events.push(...batch);
  return events;
}

test('E-801: what came in first is told first, then what was written, once and in the order of the log', async () => {
  const { log, store, open } = rig();
  const run = await open('a');
  const reader = read(log, run.admission);
  const fact = await store.appendFact(steering(run.admission, 'm'));
  const told = await run.writer.write([textDraft('x'), stepDraft('1')]);
  expect(told).toMatchObject([
    { seq: 2, type: 'user-message' },
    { seq: 4, type: 'file-changed' },
  ]);
  expect(told?.[0]).toEqual(fact.outcome === 'stored' ? fact.events[0] : null);
  expect(await run.writer.write([stepDraft('2')])).toMatchObject([{ seq: 5 }]);
  expect(await end(run)).toMatchObject({ outcome: 'ended', events: [{ seq: 6, type: 'run-result' }] });
  await reader.done;
  expect(seqs(reader.seen)).toEqual(upTo(6));
});

test('G6: a writer is sent to meet what was said in another process, as soon as it is known that there is something', async () => {
  const { log, store, open } = rig();
  const run = await open('a');
  const reader = read(log, run.admission);
  const { runId } = run.admission;
  await store.appendFact(steering(run.admission, 'm'));
  log.meet(runId, 1);
  log.meet(runId, 2);
  await vi.waitFor(() => expect(types(reader.seen)).toEqual(['run-started', 'user-message']));
  expect(await run.writer.write([stepDraft('1')])).toMatchObject([{ seq: 2 }, { seq: 3 }]);
});

test('Q6: of writes that wait for one commit the first is told everything, and live ones are told nothing', async () => {
  const { store, open } = rig();
  const run = await open('a');
  await store.appendFact(steering(run.admission, 'm'));
  const writes = [
    run.writer.write([textDraft('x'.repeat(70_000))]),
    run.writer.write([stepDraft('1')]),
    run.writer.write([stepDraft('2')]),
  ];
  const told = [];
  for (const write of writes) told.push(types((await write) ?? []));
  expect(told).toEqual([[], ['user-message', 'file-changed', 'file-changed'], []]);
});

test('Q5, E-661: an end that a fact overtook is stored not at all; the next one knows of it', async () => {
  const { log, store, open } = rig();
  const run = await open('a');
  await store.appendFact(steering(run.admission, 'm'));
  const overtaken = await end(run, [stepDraft('withdrawn')]);
  expect(overtaken).toMatchObject({ outcome: 'overtaken', events: [{ seq: 2, type: 'user-message' }] });
  expect(await store.run(run.admission.runId)).toMatchObject({ status: 'running', lastSeq: 2 });
  expect(log.openRuns).toBe(1);
  expect(await run.writer.write([stepDraft('1')])).toMatchObject([{ seq: 3 }]);
  expect(await end(run)).toMatchObject({ outcome: 'ended', events: [{ seq: 4 }] });
  expect(await store.appendFact(steering(run.admission, 'late'))).toEqual({ outcome: 'ended' });
  expect(types(await stored(log, run.admission))).toEqual([
    'run-started',
    'user-message',
    'file-changed',
    'run-result',
  ]);
  expect(log.openRuns).toBe(0);
});

test('Q5: a fact that was met with live events and told to nobody overtakes the end that comes after', async () => {
  const { store, open, clock } = rig();
  const run = await open('a');
  await store.appendFact(steering(run.admission, 'm'));
  expect(run.writer.write([textDraft('x')])).toBeUndefined();
  await clock.advance(5);
  expect(await store.run(run.admission.runId)).toMatchObject({ lastSeq: 3 });
  expect(await end(run)).toMatchObject({ outcome: 'overtaken', events: [{ seq: 2 }] });
  expect(await end(run)).toMatchObject({ outcome: 'ended', events: [{ seq: 4 }] });
});

test('Q5: an end that waits behind a write is withdrawn when that write meets a fact; the write is stored', async () => {
  const { log, store, open } = rig();
  const run = await open('a');
  await store.appendFact(steering(run.admission, 'm'));
  const [written, overtaken] = await Promise.all([run.writer.write([stepDraft('1')]), end(run)]);
  expect(overtaken.outcome).toBe('overtaken');
  expect(seqs([...overtaken.events, ...(written ?? [])])).toEqual([2, 3]);
  expect(await end(run)).toMatchObject({ outcome: 'ended' });
  expect(types(await stored(log, run.admission))).toEqual([
    'run-started',
    'user-message',
    'file-changed',
    'run-result',
  ]);
});

test('a park is overtaken like an end; once it is stored the run waits and its writer takes nothing more', async () => {
  const { log, store, open, clock } = rig();
  const run = await open('a');
  const reader = read(log, run.admission);
  await store.appendFact(steering(run.admission, 'm'));
  expect(await run.writer.park([parkDraft(run.admission)])).toMatchObject({
    outcome: 'overtaken',
    events: [{ seq: 2 }],
  });
  expect(await run.writer.park([parkDraft(run.admission)])).toMatchObject({ outcome: 'ended', events: [{ seq: 3 }] });
  expect(await store.run(run.admission.runId)).toMatchObject({ status: 'running', phase: 'paused', owner: null });
  await expect(run.writer.write([stepDraft('late')])).rejects.toThrow(RuntimeStateError);
  await expect(end(run)).rejects.toThrow(RuntimeStateError);
  await log.appendFact(steering(run.admission, 'while parked'));
  await clock.advance(0);
  expect(seqs(reader.seen)).toEqual(upTo(4));
  reader.stop();
  await reader.done;
  expect([log.openRuns, clock.pending]).toEqual([0, 0]);
});

test('Q4: anything else than facts from outside behind the position breaks the fence', async () => {
  const { store, open } = rig();
  const run = await open('a');
  const { runId, sessionId } = run.admission;
  await store.appendFact(steering(run.admission, 'm'));
  const events = stampAll([stepDraft('of another writer')], runId, sessionId);
  await store.append([{ runId, generation: 1, after: 2, events }], { durable: true });
  await expect(run.writer.write([stepDraft('1')])).rejects.toThrow(StorageError);
  await expect(end(run)).rejects.toThrow(StorageError);
  expect(await store.run(runId)).toMatchObject({ status: 'running', lastSeq: 3 });
});

test('Q4: more facts than fit into one page are met page by page', async () => {
  const { store, open } = rig();
  const run = await open('a');
  for (let index = 0; index < 600; index++) await store.appendFact(steering(run.admission, `${index}`));
  expect(seqs((await run.writer.write([stepDraft('1')])) ?? [])).toEqual(upTo(602, 2));
  expect(await end(run)).toMatchObject({ outcome: 'ended' });
});

test('Q4, E-101: a batch whose answer was lost is found in the log, and not written twice', async () => {
  let lost = 0;
  const { log, store, open, clock } = rig((real) => ({
    async append(batch, options) {
      const results = await real.append(batch, options);
      if (lost++ === 0) throw new StorageError('The answer was lost.');
      return results;
    },
  }));
  const run = await open('a');
  const written = run.writer.write([noteDraft('own')]);
  await clock.advance(0);
  await store.appendFact(steering(run.admission, 'm'));
  await clock.advance(1_000);
  expect(await written).toMatchObject([{ seq: 2, data: { messageId: 'own' } }]);
  expect(await run.writer.write([stepDraft('1')])).toMatchObject([{ seq: 3, data: { messageId: 'm' } }, { seq: 4 }]);
  expect(await stored(log, run.admission)).toHaveLength(4);
});

test('E-143: a store that cannot say what came in is asked again', async () => {
  let broken = true;
  const { store, open, clock } = rig((real) => ({
    async readEvents(runId, range) {
      if (broken) throw new StorageError('The disk is full.');
      return real.readEvents(runId, range);
    },
  }));
  const run = await open('a');
  await store.appendFact(steering(run.admission, 'm'));
  const written = run.writer.write([stepDraft('1')]);
  await clock.advance(5_000);
  broken = false;
  await clock.advance(5_000);
  expect(seqs((await written) ?? [])).toEqual([2, 3]);
});

test('E-143: the gap that went with an end that was withdrawn goes with the next write', async () => {
  let broken = true;
  const { log, store, open, clock } = rig((real) => ({
    async append(batch, options) {
      if (broken) throw new StorageError('The disk is full.');
      return real.append(batch, options);
    },
  }));
  const run = await open('a');
  void run.writer.write([textDraft('lost')]);
  await clock.advance(2_000);
  broken = false;
  await store.appendFact(steering(run.admission, 'm'));
  expect(await end(run)).toMatchObject({ outcome: 'overtaken' });
  expect(await end(run)).toMatchObject({ outcome: 'ended' });
  expect(types(await stored(log, run.admission))).toEqual(['run-started', 'user-message', 'gap', 'run-result']);
});

test('G6: a fact appended here is published at once, whether a writer is at work, idle, or elsewhere', async () => {
  const { log, open, clock } = rig();
  const run = await open('a');
  const published: number[] = [];
  log.onPublish((_, events) => published.push(...seqs(events)));
  const reader = read(log, run.admission, 1);
  await clock.advance(0);
  await log.appendFact(steering(run.admission, 'idle'));
  await clock.advance(5);
  expect([seqs(reader.seen), published]).toEqual([[2], [2]]);
  await Promise.all([log.appendFact(steering(run.admission, 'at work')), run.writer.write([stepDraft('1')])]);
  run.writer.close();
  await log.appendFact(steering(run.admission, 'elsewhere'));
  await clock.advance(0);
  expect([seqs(reader.seen), published]).toEqual([upTo(5, 2), upTo(5, 2)]);
  reader.stop();
  await reader.done;
});

test('G6: a writer that did not know of a published fact tells its owner, and publishes it no second time', async () => {
  const { log, store, clock } = rig();
  const admission = admissionOf('a');
  await log.admit(admission);
  const published: number[] = [];
  log.onPublish((_, events) => published.push(...seqs(events)));
  const reader = read(log, admission);
  const taken = await store.takeOver(admission.runId, 'there');
  await log.appendFact(steering(admission, 'm'));
  const heard: number[] = [];
  const writer = log.writer(
    { ...admission, generation: taken?.generation ?? 0, lastSeq: taken?.lastSeq ?? 0, leg: 2 },
    (events) => heard.push(...seqs(events)),
  );
  expect(seqs((await writer.write([stepDraft('1')])) ?? [])).toEqual([2, 3]);
  await clock.advance(0);
  expect([heard, published, seqs(reader.seen)]).toEqual([[2, 3], [2, 3], upTo(3)]);
  reader.stop();
  await reader.done;
});

test('G2, G6: a fact published over what another process wrote leaves no hole for any follower', async () => {
  const { log, store, open, clock } = rig();
  const run = await open('a');
  const { runId, sessionId } = run.admission;
  const gate = Promise.withResolvers<void>();
  const stalled = read(log, run.admission, 0, gate.promise);
  const brisk = read(log, run.admission);
  await clock.advance(0);
  await run.writer.write([stepDraft('2')]);
  run.writer.close();
  const events = stampAll([stepDraft('3'), textDraft('4')], runId, sessionId);
  await store.append([{ runId, generation: 1, after: 2, events }], { durable: true });
  await log.appendFact(steering(run.admission, '5'));
  await clock.advance(0);
  gate.resolve();
  await clock.advance(0);
  expect([seqs(brisk.seen), seqs(stalled.seen)]).toEqual([upTo(5), upTo(5)]);
  for (const reader of [brisk, stalled]) reader.stop();
  await Promise.all([brisk.done, stalled.done]);
});

test('G4, E-144: a follower in another process sees a fact within a second', async () => {
  const { log, store, open, clock } = rig();
  const run = await open('a');
  const elsewhere = createRunLog({ store, clock, logger: silentLogger });
  const reader = read(elsewhere, run.admission);
  await log.appendFact(steering(run.admission, 'm'));
  await clock.advance(1_000);
  expect(seqs(reader.seen)).toEqual([1, 2]);
  reader.stop();
  await reader.done;
});

const messagesIn = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'user-message' ? [event.data.messageId] : []));

type Act =
  | { readonly kind: 'fact' | 'live' | 'commit' | 'flush' | 'end' }
  | { readonly kind: 'wait'; readonly ms: number };
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('fact', 'live', 'commit', 'flush', 'end') }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(12) }),
  ),
  { maxLength: 30 },
);

test('Q5, Q6, E-661: whatever comes in between, the owner is told the log, and ended it knowing all of it', async () => {
  await fc.assert(
    fc.asyncProperty(acts, fc.boolean(), async (script, here) => {
      await using store = openSqlite(':memory:');
      const { log, clock, open } = logRig(store, undefined, { windowMs: 5 });
      const run = await open('a');
      const followed = read(log, run.admission);
      const told: RunEvent[] = [];
      const [accepted, work]: [string[], Promise<unknown>[]] = [[], []];
      for (const [index, act] of [...script, { kind: 'end' as const }, { kind: 'end' as const }].entries()) {
        if (act.kind === 'wait') await clock.advance(act.ms);
        else work.push(perform(act.kind, index));
      }
      for (let round = 0; round < 9; round++) await clock.advance(5);
      await Promise.all(work);
      while ((await finishOnce(run, clock, told)) === 'overtaken') continue;
      await followed.done;

      async function endKnowing(): Promise<void> {
        const known = messagesIn(told).length;
        const { outcome, events } = await end(run);
        told.push(...events);
        if (outcome === 'ended') expect(messagesIn(told)).toHaveLength(known);
      }
      async function perform(kind: Exclude<Act['kind'], 'wait'>, index: number): Promise<void> {
        try {
          if (kind === 'fact') {
            const fact = steering(run.admission, `${index}`);
            const result = await (here ? log : store).appendFact(fact);
            if (result.outcome === 'stored') accepted.push(`${index}`);
          } else if (kind === 'flush') await run.writer.flush();
          else if (kind === 'end') await endKnowing();
          else told.push(...((await run.writer.write([kind === 'live' ? textDraft('x') : stepDraft('s')])) ?? []));
        } catch (error) {
          expect(error).toBeInstanceOf(RuntimeStateError);
        }
      }
      const events = await stored(log, run.admission);
      expect(checkLog(events).filter((line) => line.startsWith('L1') || line.startsWith('L3'))).toEqual([]);
      expect(told).toEqual(events.filter(({ type, seq }) => seq > 1 && !isLive(type)));
      expect(followed.seen).toEqual(events);
      expect(events.flatMap((event) => (event.type === 'user-message' ? [event.data.messageId] : []))).toEqual(
        accepted,
      );
      expect(events.at(-1)?.type).toBe('run-result');
    }),
    { numRuns: 60 },
  );
});

async function finishOnce(
  { writer, admission }: OpenedRun,
  clock: LogRig['clock'],
  told: RunEvent[],
): Promise<'ended' | 'overtaken'> {
  const ended = writer.end([resultDraft(admission.runId, admission.sessionId)], ending).then(
    ({ outcome, events }) => {
      told.push(...events);
      return outcome;
    },
    () => 'ended' as const,
  );
  for (let round = 0; round < 4; round++) await clock.advance(5);
  return ended;
}
