import { expect, test } from 'vitest';
import { harnessIds, keyIds } from '../core/ids.ts';
import { plainSetup } from '../stores/harness-record.ts';
import type { Store } from '../stores/store.ts';
import type { AdmitResult } from '../stores/admission.ts';
import type { Bundle, HarnessRecord } from '../stores/harness-record.ts';
import type { Fresh } from './store-contract.ts';
import { auditOf } from './store-records.ts';
import { admissionOf, continuationOf, resultDraft, stampAll } from './store-samples.ts';
import { admitted, finish } from './store-steps.ts';

/** What belongs to a principal: limits, spending, keys, audit, bundles. */
export function describePrincipals(fresh: Fresh): void {
  describeCaps(fresh);
  describeSpending(fresh);
  describeUploads(fresh);
  describeRecords(fresh);
  describeBundles(fresh);
}

const oneAtOnce = { runningTasks: 1, tasksPerMinute: null };
const twoPerMinute = { runningTasks: null, tasksPerMinute: 2 };

const outcomes = (results: readonly AdmitResult[]) => results.map(({ outcome }) => outcome).toSorted();

function describeCaps(fresh: Fresh): void {
  test('UR-53: of 20 tasks at once through two processes as many begin as may', async () => {
    const { store, reopen } = await fresh();
    const stores = [store, await reopen()];
    const results = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        (stores[index % 2] ?? store).admit(admissionOf(`${index}`, { caps: oneAtOnce })),
      ),
    );
    expect(outcomes(results)).toEqual(['admitted', ...Array.from({ length: 19 }, () => 'limited')]);
    const limited = { outcome: 'limited', cap: 'runningTasks', retryAfterMs: null };
    expect(results.find(({ outcome }) => outcome === 'limited')).toEqual(limited);
    expect(await store.taskCounts('owner', 0)).toEqual({ running: 1, begun: 1, oldestAtMs: 1_000 });
  });

  test('UR-53: a task that has ended counts no longer as at work; a refused one has made nothing and left its key free', async () => {
    const { store } = await fresh();
    const a = await admitted(store, 'a');
    const b = admissionOf('b', { caps: oneAtOnce, idempotency: { key: 'k', bodyHash: 'h' } });
    expect(await store.admit(b)).toMatchObject({ outcome: 'limited' });
    expect([await store.session(b.sessionId), await store.run(b.runId)]).toEqual([null, null]);
    await finish(store, a, 1);
    expect(await store.admit(b)).toMatchObject({ outcome: 'admitted' });
  });

  test('UR-53: a window of a minute slides; who is refused is told when the oldest leaves it', async () => {
    const { store } = await fresh();
    const at = (name: string, atMs: number) => store.admit(admissionOf(name, { atMs, caps: twoPerMinute }));
    expect(outcomes([await at('a', 1_000), await at('b', 31_000)])).toEqual(['admitted', 'admitted']);
    const limited = { outcome: 'limited', cap: 'tasksPerMinute' };
    expect(await at('c', 41_000)).toEqual({ ...limited, retryAfterMs: 20_000 });
    expect(await at('c', 60_999)).toEqual({ ...limited, retryAfterMs: 1 });
    expect(await at('c', 61_000)).toMatchObject({ outcome: 'admitted' });
    expect(await at('d', 61_000)).toEqual({ ...limited, retryAfterMs: 30_000 });
  });

  test('UR-53: who has spent a quota of the day begins nothing, however many try at once where the last one ends', async () => {
    const { store, reopen } = await fresh();
    const other = await reopen();
    const quota = { day: '1970-01-01', tokens: 10, dollars: null };
    const a = await admitted(store, 'a');
    const { runId, sessionId } = a;
    const end = { status: 'completed', response: null, atMs: 5, spent: { tokens: 10 } } as const;
    const events = stampAll([resultDraft(runId, sessionId)], runId, sessionId);
    const racing = Array.from({ length: 10 }, async (_, index) =>
      (index % 2 === 0 ? store : other).admit(admissionOf(`${index}`, { caps: oneAtOnce, quota })),
    );
    await store.append([{ runId, generation: 1, after: 1, events, end }], { durable: true });
    expect(outcomes(await Promise.all(racing)).filter((outcome) => outcome === 'admitted')).toEqual([]);
    const exhausted = { outcome: 'exhausted', quota: 'tokens', limit: 10, used: 10 };
    expect(await other.admit(admissionOf('b', { caps: oneAtOnce, quota }))).toEqual(exhausted);
    expect(await other.admit(admissionOf('c', { quota: { ...quota, tokens: 11 } }))).toMatchObject({
      outcome: 'admitted',
    });
  });

  test('UR-53: what was started before is answered whatever the limit; sub-agents and other principals do not count', async () => {
    const { store } = await fresh();
    const a = admissionOf('a', { caps: oneAtOnce, idempotency: { key: 'k', bodyHash: 'h' } });
    await store.admit(a);
    expect(await store.admit({ ...a, runId: admissionOf('again').runId })).toMatchObject({ outcome: 'replayed' });
    for (const name of ['s', 't'])
      expect(await store.admit(admissionOf(name, { parentRunId: a.runId }))).toMatchObject({ outcome: 'admitted' });
    expect(await store.admit(admissionOf('x', { principal: 'else', caps: oneAtOnce }))).toMatchObject({
      outcome: 'admitted',
    });
    await finish(store, a, 1);
    expect(await store.admit({ ...continuationOf('b', a), caps: oneAtOnce })).toMatchObject({ outcome: 'admitted' });
    expect(await store.taskCounts('owner', 999)).toEqual({ running: 1, begun: 2, oldestAtMs: 1_000 });
    expect(await store.taskCounts('owner', 1_000)).toEqual({ running: 1, begun: 0, oldestAtMs: null });
  });
}

function describeSpending(fresh: Fresh): void {
  const nothing = { tokens: 0, dollars: 0, uploadBytes: 0 };
  const ended = async (store: Store, name: string, o: { parent?: string; after?: number; atMs: number }) => {
    const parent = o.parent === undefined ? {} : { parentRunId: admissionOf(o.parent).runId };
    const run = admissionOf(name, parent);
    await store.admit(run);
    const { runId, sessionId } = run;
    const end = { status: 'completed', response: null, atMs: o.atMs, spent: { tokens: 10, dollars: 0.5 } } as const;
    const events = stampAll([resultDraft(runId, sessionId)], runId, sessionId);
    await store.append([{ runId, generation: 1, after: o.after ?? 1, events, end }], { durable: true });
  };

  test('UR-53: the end of a task charges its principal on the UTC day of the end, once, and over a restart', async () => {
    const { store, reopen } = await fresh();
    await ended(store, 'a', { atMs: Date.UTC(2026, 0, 1, 23, 59, 59, 999) });
    for (const name of ['b', 'c']) await ended(store, name, { atMs: Date.UTC(2026, 0, 2) });
    const other = await reopen();
    expect(await other.spending('owner', '2026-01-01')).toEqual({ ...nothing, tokens: 10, dollars: 0.5 });
    expect(await other.spending('owner', '2026-01-02')).toEqual({ ...nothing, tokens: 20, dollars: 1 });
    expect(await other.spending('else', '2026-01-01')).toEqual(nothing);
  });

  test('L3: a refused end charges nothing, nor does that of a run which works for another one', async () => {
    const { store } = await fresh();
    await ended(store, 'a', { after: 7, atMs: 0 });
    await ended(store, 's', { parent: 'a', atMs: 0 });
    expect(await store.spending('owner', '1970-01-01')).toEqual(nothing);
  });

  test('what is spent is summed, figure by figure, however many say so at once', async () => {
    const { store, reopen } = await fresh();
    const stores = [store, await reopen()];
    const spend = async (index: number) =>
      (stores[index % 2] ?? store).spend('owner', '2026-01-01', index % 3 === 0 ? { uploadBytes: 5 } : { tokens: 1 });
    await Promise.all(Array.from({ length: 30 }, (_, index) => spend(index)));
    expect(await store.spending('owner', '2026-01-01')).toEqual({ tokens: 20, dollars: 0, uploadBytes: 50 });
  });
}

function describeUploads(fresh: Fresh): void {
  test('UR-53: of 20 uploads at once through two processes as many are charged as have room, and what is given back is free', async () => {
    const { store, reopen } = await fresh();
    const stores = [store, await reopen()];
    const reserve = (index: number, limit: number | null) =>
      (stores[index % 2] ?? store).reserveUpload('owner', '2026-01-01', { bytes: 3, limit });
    const reserved = await Promise.all(Array.from({ length: 20 }, async (_, index) => reserve(index, 10)));
    expect(reserved.filter(Boolean)).toHaveLength(3);
    expect(await store.spending('owner', '2026-01-01')).toEqual({ tokens: 0, dollars: 0, uploadBytes: 9 });
    await store.spend('owner', '2026-01-01', { uploadBytes: -3 });
    expect([await reserve(0, 9), await reserve(0, 9), await reserve(0, null)]).toEqual([true, false, true]);
    expect(await store.spending('owner', '2026-01-01')).toMatchObject({ uploadBytes: 12 });
  });
}

function describeRecords(fresh: Fresh): void {
  test('UD-69: a key is found by its id, with its name', async () => {
    const { store } = await fresh();
    const rest = { principal: 'owner', hash: 'abc', scopes: ['run'], createdAtMs: 5, revokedAtMs: null };
    const key = { keyId: keyIds.make('one'), name: 'Laptop', ...rest };
    await store.putKey(key);
    expect(await store.key(key.keyId)).toEqual(key);
    expect(await store.key(keyIds.make('two'))).toBeNull();
  });

  test('C-062: who is signed in to the console is known over a restart, until it is taken back or has expired', async () => {
    const { store, reopen } = await fresh();
    const session = (hash: string, expiresAtMs: number) => ({ hash, keyId: keyIds.make('one'), expiresAtMs });
    for (const name of ['a', 'b', 'c']) await store.putConsoleSession(session(name, 9), 1);
    await store.deleteConsoleSession('b');
    await store.deleteConsoleSession('none');
    const other = await reopen();
    const known = async () =>
      (await Promise.all(['a', 'b', 'c', 'd'].map((name) => other.consoleSession(name)))).map((each) => each?.hash);
    expect(await other.consoleSession('a')).toEqual(session('a', 9));
    expect(await known()).toEqual(['a', undefined, 'c', undefined]);
    await other.putConsoleSession(session('d', 20), 9);
    expect(await known()).toEqual([undefined, undefined, undefined, 'd']);
  });

  test('the audit is listed newest first, by principal and action, and its pages stay while more is written', async () => {
    const { store, reopen } = await fresh();
    const entries = ['1', '2', '3', '4', '5'].map((name) => auditOf(name));
    for (const one of entries) await store.appendAudit(one);
    await store.appendAudit(auditOf('x', { principal: 'else', action: 'session.delete' }));
    const other = await reopen();
    const ids = async (filter: Partial<Parameters<Store['audit']>[0]>) =>
      (await other.audit({ limit: 99, ...filter })).map(({ entryId }) => entryId);
    expect(await ids({ principal: 'owner', limit: 2 })).toEqual(['5', '4']);
    await store.appendAudit(auditOf('6'));
    expect(await ids({ principal: 'owner', limit: 2, after: '4' })).toEqual(['3', '2']);
    expect(await ids({ principal: 'owner', limit: 2, after: '2' })).toEqual(['1']);
    expect(await ids({ principal: 'owner', after: '1' })).toEqual([]);
    expect(await ids({ action: 'session.delete' })).toEqual(['x']);
    expect(await ids({})).toEqual(['6', 'x', '5', '4', '3', '2', '1']);
    expect([await other.auditEntry('3'), await other.auditEntry('none')]).toEqual([auditOf('3'), null]);
    expect((await other.audit({ limit: 1, principal: 'else' }))[0]).toEqual(
      auditOf('x', { principal: 'else', action: 'session.delete' }),
    );
  });

  test('the audit forgets what was done before, and nothing else', async () => {
    const { store } = await fresh();
    for (const atMs of [1, 2, 3]) await store.appendAudit(auditOf(`${atMs}`, { atMs }));
    expect(await store.pruneAudit(3)).toBe(2);
    expect(await store.audit({ limit: 9 })).toMatchObject([{ entryId: '3' }]);
  });
}

function describeBundles(fresh: Fresh): void {
  const files = [
    { path: 'SKILL.md', content: 'é\n' },
    { path: 'logo.png', content_b64: 'AAEC' },
  ];
  const bundleOf = (ref: string): Bundle => ({ ref, files });
  const harnessOf = (name: string, skills: readonly string[], change: Partial<HarnessRecord> = {}): HarnessRecord => ({
    harnessId: harnessIds.make(name),
    principal: 'owner',
    name,
    base: 'native',
    defaultModel: null,
    systemPrompt: null,
    disabledTools: [],
    maxStep: null,
    timeoutSeconds: null,
    permissions: null,
    planning: null,
    setup: {
      ...plainSetup,
      skills: [
        { name: 'none', enabled: false, bundle: null },
        ...skills.map((bundle) => ({ name: bundle, enabled: true, bundle })),
      ],
    },
    createdAtMs: 5,
    deleted: false,
    ...change,
  });
  const days = (count: number) => ({ endedBeforeMs: 0, nowMs: count * 86_400_000 + count });

  test('U-101: a harness comes back with its whole setup, secrets too, and its bundles with it', async () => {
    const { store, reopen } = await fresh();
    const secret = { id: 's1', value: 'hush' };
    const server = { name: 'm', url: 'https://example.com', enabled: true };
    const setup: HarnessRecord['setup'] = {
      mcpServers: [
        { ...server, transport: 'http', headers: { Authorization: secret }, auth: null },
        { ...server, transport: 'sse', headers: {}, auth: secret },
      ],
      skills: [{ name: 'none', enabled: false, bundle: null }],
      plugins: [{ name: 'p', enabled: true, bundle: 'one' }],
      modelFallback: true,
      template: 'folder',
      workspaceConfig: true,
    };
    const harness = harnessOf('h', [], { setup });
    await store.putHarness(harness, [bundleOf('one')]);
    const other = await reopen();
    expect(await other.harness(harness.harnessId)).toEqual(harness);
    expect(await other.bundle('owner', 'one')).toEqual(bundleOf('one'));
  });

  test("U-043: a bundle is its principal's: to another one it is not there, whoever has the same", async () => {
    const { store } = await fresh();
    await store.putHarness(harnessOf('h', ['one']), [bundleOf('one')]);
    expect(await store.bundle('else', 'one')).toBeNull();
    expect(await store.bundle('owner', 'two')).toBeNull();
    await store.putHarness(harnessOf('x', ['one'], { principal: 'else' }), [bundleOf('one')]);
    await store.putHarness(harnessOf('x', [], { principal: 'else', deleted: true }));
    for (const day of [1, 9]) await store.prune(days(day));
    expect([await store.bundle('owner', 'one'), await store.bundle('else', 'one')]).toEqual([bundleOf('one'), null]);
  });

  test('UD-35: a bundle that no harness names stays for a week, and for good once one names it again', async () => {
    const { store } = await fresh();
    await store.putHarness(harnessOf('h', ['one', 'two', 'three']), ['one', 'two', 'three'].map(bundleOf));
    await store.putHarness(harnessOf('i', ['three']));
    await store.putHarness(harnessOf('h', []));
    const kept = async () =>
      (await Promise.all(['one', 'two', 'three'].map((ref) => store.bundle('owner', ref)))).map((one) => one !== null);
    await store.prune(days(1));
    await store.prune(days(7));
    expect(await kept()).toEqual([true, true, true]);
    expect((await store.bundleRefs()).toSorted()).toEqual(['one', 'three', 'two']);
    await store.putHarness(harnessOf('h', ['two']), [bundleOf('two')]);
    await store.prune(days(9));
    expect(await kept()).toEqual([false, true, true]);
    await store.prune(days(30));
    expect(await kept()).toEqual([false, true, true]);
    expect((await store.bundleRefs()).toSorted()).toEqual(['three', 'two']);
  });
}
