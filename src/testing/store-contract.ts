import { afterEach, describe, expect, test } from 'vitest';
import { RefusedEntryError } from '../core/errors.ts';
import { harnessIds, keyIds, runIds, sessionIds } from '../core/ids.ts';
import { isLive, type EventDraft } from '../core/run-event.ts';
import { plainSetup } from '../stores/harness-record.ts';
import type { KeyRecord, Store } from '../stores/store.ts';
import type { HarnessRecord } from '../stores/harness-record.ts';
import { describeFiles } from './store-contract-files.ts';
import { describeImports } from './store-contract-imports.ts';
import { describeOwnership } from './store-contract-ownership.ts';
import { describeRetention } from './store-contract-retention.ts';
import { describePeople } from './store-contract-people.ts';
import { describePrincipals } from './store-contract-principals.ts';
import { describeQueue } from './store-contract-queue.ts';
import { describeSessions } from './store-contract-sessions.ts';
import { describeWebhooks } from './store-contract-webhooks.ts';
import { admissionOf, continuationOf, noteDraft, resultDraft, stampAll, textDraft } from './store-samples.ts';
import { admitted, entry, finish, lastSeq, readAll, write } from './store-steps.ts';

/** A store under test, and more of them over the same data: what a second process or a restarted one would see. */
export interface OpenedStore {
  readonly store: Store;
  readonly reopen: () => Promise<Store>;
}

/** The laws of `stores/store.ts`. Every store passes this suite; each test gets a store with nothing in it. */
export function describeStoreContract(name: string, open: () => Promise<OpenedStore>): void {
  const opened: Store[] = [];
  async function fresh() {
    const first = await open();
    opened.push(first.store);
    const reopen = async () => {
      const store = await first.reopen();
      opened.push(store);
      return store;
    };
    return { store: first.store, reopen };
  }
  afterEach(async () => {
    for (const store of opened.splice(0)) await store[Symbol.asyncDispose]();
  });

  describe(`store contract: ${name}`, () => {
    describeLog(fresh);
    describeAdmission(fresh);
    describeOwnership(fresh);
    describeRetention(fresh);
    describeRecords(fresh);
    describePeople(fresh);
    describeQueue(fresh);
    describeFiles(fresh);
    describeImports(fresh);
    describeSessions(fresh);
    describePrincipals(fresh);
    describeWebhooks(fresh);
  });
}

/** A store with nothing in it; whatever is opened is closed after the test. */
export type Fresh = () => Promise<OpenedStore>;

function describeLog(fresh: Fresh): void {
  test('L1: seq is 1, 2, 3 … over admission and appends, and reads give it back from any cursor', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    for (let round = 0; round < 50; round++) await write(store, a, [textDraft(`${round}`), noteDraft(`${round}`)]);
    const events = await readAll(await reopen(), a);
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 101 }, (_, index) => index + 1));
    for (const after of [0, 1, 2, 49, 50, 100, 101])
      expect(await readAll(store, a, { after })).toEqual(events.slice(after));
  });

  test('L1: what an append answers is what a read gives, byte for byte (B051)', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const drafts: EventDraft[] = [
      { ...textDraft('é\ud83d\ude00\u2028"\\'), agentPath: ['scout', 'inner'] },
      { type: 'waiting', step: 1, attempt: 1, data: { on: 'tool', seconds: 1.5, name: 'bash' } },
    ];
    const live = await write(store, a, [...drafts, noteDraft('end')]);
    expect(JSON.stringify(await readAll(store, a, { after: 1 }))).toBe(JSON.stringify(live));
  });

  test('a page holds about `limit` events and never nothing where there is something', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    for (let round = 0; round < 40; round++) await write(store, a, [textDraft('x'), textDraft('y')]);
    const page = await store.readEvents(a.runId, { after: 3, limit: 10 });
    expect(page[0]?.seq).toBe(4);
    expect(page.length).toBeGreaterThanOrEqual(1);
    expect(page.length).toBeLessThanOrEqual(12);
    expect(await store.readEvents(a.runId, { after: 81, limit: 10 })).toEqual([]);
    expect(await store.readEvents(runIds.make('nobody'), { after: 0, limit: 10 })).toEqual([]);
  });

  test('`committedOnly` gives the committed events alone, under the seq they have, from any cursor', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    for (let round = 0; round < 30; round++) {
      await write(store, a, [textDraft('x'), textDraft('y')]);
      if (round % 4 === 0) await write(store, a, [textDraft('z'), noteDraft(`${round}`), textDraft('w')]);
    }
    const committed = (await readAll(store, a)).filter(({ type }) => !isLive(type));
    expect(committed).toHaveLength(9);
    for (const after of [0, 1, 4, 5, 40, 80]) {
      const events = await readAll(store, a, { after, committedOnly: true });
      expect(events).toEqual(committed.filter(({ seq }) => seq > after));
    }
  });

  test('L3: a refused entry changes nothing and leaves the others of its batch alone', async () => {
    const { store } = await fresh();
    const [a, b, c] = [await admitted(store, 'a'), await admitted(store, 'b'), await admitted(store, 'c')];
    const batch = [entry(a, 1), entry(b, 7), entry(c, 1, { generation: 9 }), entry(a, 2), entry(a, 2)];
    const results = await store.append([...batch, entry(admissionOf('nobody'), 0)], { durable: true });
    const outcomes = ['stored', 'wrong-position', 'lease-lost', 'stored', 'wrong-position', 'lease-lost'];
    expect(results.map(({ outcome }) => outcome)).toEqual(outcomes);
    expect(results[1]).toEqual({ outcome: 'wrong-position', lastSeq: 1 });
    expect(results[4]).toEqual({ outcome: 'wrong-position', lastSeq: 3 });
    expect([await lastSeq(store, a), await lastSeq(store, b), await lastSeq(store, c)]).toEqual([3, 1, 1]);
  });

  test('L3: an entry whose values cannot be stored is told from an outage; nothing of its batch is there, and all but it can be', async () => {
    const { store } = await fresh();
    const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
    const ending = { status: 'completed', response: null, atMs: 5_000, spent: { tokens: 12.5, dollars: 0 } } as const;
    const events = stampAll([resultDraft(b.runId, b.sessionId)], b.runId, b.sessionId);
    const refused = entry(b, 1, { events, end: ending });
    await expect(store.append([entry(a, 1), refused], { durable: true })).rejects.toThrow(RefusedEntryError);
    expect([await lastSeq(store, a), await lastSeq(store, b)]).toEqual([1, 1]);
    expect(await store.append([entry(a, 1)], { durable: true })).toMatchObject([{ outcome: 'stored' }]);
    await finish(store, b, 1, { status: 'failed' });
    expect(await store.run(b.runId)).toMatchObject({ status: 'failed' });
  });

  test('L4, E-140: the append of the result ends the run, stores the response and frees the session', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    expect(await store.session(a.sessionId)).toMatchObject({ runningRunId: a.runId });
    await finish(store, a, 1);
    const run = { status: 'completed', endedAtMs: 5_000, response: { output: 'done' }, lastSeq: 2, owner: null };
    const other = await reopen();
    expect(await other.run(a.runId)).toMatchObject(run);
    expect(await other.session(a.sessionId)).toMatchObject({ runningRunId: null, updatedAtMs: 5_000 });
    expect(await other.unfinishedRuns()).toEqual([]);
  });

  test('E-122: nothing is appended to a log that has ended', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await finish(store, a, 1);
    expect(await store.append([entry(a, 2)], { durable: true })).toEqual([{ outcome: 'lease-lost' }]);
    expect(await lastSeq(store, a)).toBe(2);
  });

  test('E-801: who was not told that its ending is stored learns by its position that it is; another owner never does', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const events = stampAll([resultDraft(a.runId, a.sessionId)], a.runId, a.sessionId);
    const ending = entry(a, 1, { events, end: { status: 'completed', response: null, atMs: 5_000 } });
    expect(await store.append([ending], { durable: true })).toMatchObject([{ outcome: 'stored' }]);
    expect(await store.append([ending], { durable: true })).toEqual([{ outcome: 'wrong-position', lastSeq: 2 }]);
    const others = [
      { ...ending, generation: 2 },
      { ...ending, generation: 0 },
    ];
    expect(await store.append(others, { durable: true })).toEqual(others.map(() => ({ outcome: 'lease-lost' })));
    expect(await lastSeq(store, a)).toBe(2);
  });

  test('L4: a refused ending ends nothing', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await finish(store, a, 8);
    expect(await store.run(a.runId)).toMatchObject({ status: 'running', response: null, lastSeq: 1 });
    expect(await store.session(a.sessionId)).toMatchObject({ runningRunId: a.runId });
  });
}

function describeAdmission(fresh: Fresh): void {
  test('E-050, E-140: one transaction makes session, run, first event and key', async () => {
    const { store, reopen } = await fresh();
    const admission = admissionOf('a', { idempotency: { key: 'k', bodyHash: 'h' }, store: false });
    const result = await store.admit(admission);
    const run = { turn: 1, status: 'running', lastSeq: 1, generation: 1, owner: 'here', store: false, control: 'none' };
    expect(result).toMatchObject({ outcome: 'admitted', run, events: [{ seq: 1, type: 'run-started' }] });
    const other = await reopen();
    expect(await other.run(admission.runId)).toEqual(result.outcome === 'admitted' ? result.run : null);
    expect(await other.session(admission.sessionId)).toMatchObject({ title: 'a', runningRunId: admission.runId });
    expect(await other.idempotency('owner', 'k')).toEqual({ runId: admission.runId, bodyHash: 'h' });
    const { runId, harnessId } = admission;
    const unfinished = {
      runId,
      harnessId,
      owner: 'here',
      control: 'none',
      phase: 'active',
      createdAtMs: 1_000,
      lastSeq: 1,
      generation: 1,
    };
    expect(await other.unfinishedRuns()).toEqual([{ ...unfinished, openApprovals: 0 }]);
  });

  test('B106: of 50 who make one session exactly one does; the others find it, busy or gone on', async () => {
    const { store, reopen } = await fresh();
    const other = await reopen();
    const sessionId = sessionIds.make('one');
    const admissions = Array.from({ length: 50 }, (_, index) => admissionOf(`${index}`, { sessionId }));
    const results = await Promise.all(
      admissions.map((admission, index) => (index % 2 === 0 ? store : other).admit(admission)),
    );
    const [first] = admissions.filter((_, index) => results[index]?.outcome === 'admitted');
    if (first === undefined) throw new Error('Nobody was admitted.');
    const busy = { outcome: 'busy', runningRunId: first.runId };
    expect(results.filter(({ outcome }) => outcome !== 'admitted')).toEqual(Array.from({ length: 49 }, () => busy));
    await finish(store, first, 1);
    expect(await other.admit(admissionOf('late', { sessionId }))).toEqual({ outcome: 'not-tip', tip: first.runId });
  });

  test('B106: of 50 simultaneous continuations of one response exactly one is admitted', async () => {
    const { store, reopen } = await fresh();
    const a = await admitted(store, 'a');
    await finish(store, a, 1);
    const other = await reopen();
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? store : other).admit(continuationOf(`n${index}`, a))),
    );
    expect(results.filter(({ outcome }) => outcome === 'admitted')).toHaveLength(1);
    expect(results.filter(({ outcome }) => outcome === 'busy')).toHaveLength(49);
    expect(await store.runIdsOfSession(a.sessionId)).toEqual([
      { runId: a.runId, turn: 1 },
      { runId: expect.stringMatching(/^resp_n/), turn: 2 },
    ]);
  });

  test('B113: 100 requests with one key through two stores start one run', async () => {
    const { store, reopen } = await fresh();
    const other = await reopen();
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const idempotency = { key: 'k', bodyHash: index === 99 ? 'other' : 'h' };
        return (index % 2 === 0 ? store : other).admit(admissionOf(`n${index}`, { idempotency }));
      }),
    );
    const started = results.flatMap((result) => (result.outcome === 'admitted' ? [result.run.runId] : []));
    const replays = results.filter(({ outcome }) => outcome === 'replayed');
    expect(started).toHaveLength(1);
    expect(replays).toHaveLength(99);
    expect(replays.every((replay) => 'runId' in replay && replay.runId === started[0])).toBe(true);
    expect(results[99]).toMatchObject({ sameBody: false });
    expect(await store.unfinishedRuns()).toHaveLength(1);
  });

  test('UT-08: the same key of another principal is another key; a refused request leaves its key free', async () => {
    const { store } = await fresh();
    const idempotency = { key: 'k', bodyHash: 'h' };
    const a = await admitted(store, 'a');
    expect(await store.admit({ ...continuationOf('b', a), idempotency })).toMatchObject({ outcome: 'busy' });
    expect(await store.admit(admissionOf('c', { idempotency }))).toMatchObject({ outcome: 'admitted' });
    expect(await store.admit(admissionOf('d', { idempotency, principal: 'else' }))).toMatchObject({
      outcome: 'admitted',
    });
  });

  test('U-353: a busy session names its run; an old response names the tip; no session is its own answer', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const b = continuationOf('b', a);
    expect(await store.admit(b)).toEqual({ outcome: 'busy', runningRunId: a.runId });
    await finish(store, a, 1);
    expect(await store.admit(b)).toMatchObject({ outcome: 'admitted', run: { turn: 2 } });
    await finish(store, b, 1);
    expect(await store.admit(continuationOf('c', a))).toEqual({ outcome: 'not-tip', tip: b.runId });
    expect(await store.admit(continuationOf('c', admissionOf('nobody')))).toEqual({ outcome: 'no-session' });
    expect(await store.admit({ ...continuationOf('c', b), principal: 'else' })).toEqual({ outcome: 'no-session' });
  });

  test('UD-08: a deleted tip gives way to the response before it; its run and its key stay', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    await finish(store, a, 1);
    const b = { ...continuationOf('b', a), idempotency: { key: 'k', bodyHash: 'h' } };
    await store.admit(b);
    await store.deleteResponse(b.runId);
    await finish(store, b, 1);
    expect(await store.run(b.runId)).toMatchObject({ deleted: true, response: null, status: 'completed' });
    expect(await store.admit({ ...b, runId: runIds.make('again') })).toMatchObject({
      outcome: 'replayed',
      runId: b.runId,
    });
    expect(await store.admit(continuationOf('c', b))).toEqual({ outcome: 'not-tip', tip: a.runId });
    expect(await store.admit(continuationOf('d', a))).toMatchObject({ outcome: 'admitted', run: { turn: 3 } });
  });
}

function describeRecords(fresh: Fresh): void {
  const harness: HarnessRecord = {
    harnessId: harnessIds.make('one'),
    principal: 'owner',
    name: 'One',
    base: 'native',
    defaultModel: null,
    systemPrompt: 'Be brief.',
    disabledTools: ['bash'],
    maxStep: 3,
    timeoutSeconds: null,
    permissions: {
      mode: 'allow-edits',
      tools: { bash: 'ask' },
      onUnknown: 'park',
      questions: true,
      expiresAfterSeconds: null,
      onExpiry: 'deny',
    },
    planning: false,
    setup: plainSetup,
    createdAtMs: 5,
    deleted: false,
  };
  const key: KeyRecord = {
    keyId: keyIds.make('one'),
    principal: 'owner',
    name: null,
    hash: 'abc',
    scopes: ['run', 'read'],
    createdAtMs: 5,
    revokedAtMs: null,
  };

  test('a harness that was written since it was read is left as it is, of two who read the same one writes', async () => {
    const { store } = await fresh();
    await store.putHarness(harness);
    const writes = ['a', 'b'].map((name) => store.putHarness({ ...harness, name }, [], harness));
    expect((await Promise.all(writes)).toSorted((a, b) => Number(a) - Number(b))).toEqual([false, true]);
    const now = await store.harness(harness.harnessId);
    expect(await store.putHarness({ ...harness, name: 'c' }, [], harness)).toBe(false);
    expect(await store.harness(harness.harnessId)).toEqual(now);
  });

  test('harnesses come back as they were put; a deleted one is read but not listed', async () => {
    const { store, reopen } = await fresh();
    const second = { ...harness, harnessId: harnessIds.make('two'), createdAtMs: 4 };
    for (const record of [harness, second, { ...harness, harnessId: harnessIds.make('x'), principal: 'else' }]) {
      await store.putHarness(record);
    }
    expect(await (await reopen()).harnesses('owner')).toEqual([second, harness]);
    await store.putHarness({ ...second, deleted: true });
    expect(await store.harnesses('owner')).toEqual([harness]);
    expect(await store.harness(second.harnessId)).toEqual({ ...second, deleted: true });
    expect(await store.harness(harnessIds.make('nobody'))).toBeNull();
  });

  test('UD-69: a key is found by its hash, also when it is revoked', async () => {
    const { store, reopen } = await fresh();
    await store.putKey(key);
    await store.putKey({ ...key, revokedAtMs: 9 });
    const other = await reopen();
    expect(await other.keyByHash('abc')).toEqual({ ...key, revokedAtMs: 9 });
    expect(await other.keys()).toEqual([{ ...key, revokedAtMs: 9 }]);
    expect(await other.keyByHash('abd')).toBeNull();
  });

  test('E-215: when a model may be asked again is known over a restart, until it is taken back', async () => {
    const { store, reopen } = await fresh();
    const [one, two] = ['one', 'two'].map((model) => ({ provider: 'p', model }));
    if (one === undefined || two === undefined) throw new Error('There are no models.');
    for (const untilMs of [5, 7]) await store.putModelBlock(one, untilMs);
    await store.putModelBlock(two, 9);
    await store.putModelBlock(two, null);
    expect(await (await reopen()).modelBlocks()).toEqual([{ ref: one, untilMs: 7 }]);
  });

  test('unknown ids read as absent', async () => {
    const { store } = await fresh();
    expect(await store.run(runIds.make('nobody'))).toBeNull();
    expect(await store.session(sessionIds.make('nobody'))).toBeNull();
    expect(await store.runIdsOfSession(sessionIds.make('nobody'))).toEqual([]);
    expect(await store.idempotency('owner', 'nobody')).toBeNull();
  });
}
