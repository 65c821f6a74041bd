import { expect, test } from 'vitest';
import { webhookIds } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import type { Append, Store } from '../stores/store.ts';
import type { Admission } from '../stores/admission.ts';
import type { WebhookRecord } from '../stores/webhook-store.ts';
import type { Fresh } from './store-contract.ts';
import { delivered, deliveryOf, webhookOf } from './store-records.ts';
import { admissionOf, pendingOf, requestDraft, resultDraft, stampAll } from './store-samples.ts';
import { admitted, write } from './store-steps.ts';

/** Webhooks, and what is on its way to them. */
export function describeWebhooks(fresh: Fresh): void {
  describeEvents(fresh);
  describeChanges(fresh);
  describeDeliveries(fresh);
}

type End = Pick<NonNullable<Append['end']>, 'status' | 'response'>;

async function ended(
  store: Store,
  { runId, sessionId }: Admission,
  { after = 1, ...o }: End & { readonly after?: number },
): Promise<void> {
  const events = stampAll([resultDraft(runId, sessionId, o.status)], runId, sessionId);
  const end = { ...o, atMs: 5_000 };
  await store.append([{ runId, generation: 1, after, events, end }], { durable: true });
}

async function bodies(store: Store, { webhookId }: WebhookRecord): Promise<readonly JsonObject[]> {
  return (await store.deliveries(webhookId, { limit: 99 })).map(({ body }) => body);
}

function describeEvents(fresh: Fresh): void {
  const ends: readonly (End & { readonly shown: string })[] = [
    { status: 'completed', response: { status: 'completed' }, shown: 'completed' },
    { status: 'completed', response: { status: 'incomplete' }, shown: 'incomplete' },
    { status: 'failed', response: { status: 'failed' }, shown: 'failed' },
    { status: 'cancelled', response: null, shown: 'cancelled' },
  ];
  test.each(ends)('UR-51: the end of a run is stored with its delivery: $shown', async ({ shown, ...end }) => {
    const { store, reopen } = await fresh();
    const hook = webhookOf('w');
    await store.addWebhook(hook, 99);
    const a = await admitted(store, 'a');
    await ended(store, a, end);
    const [delivery, ...more] = await (await reopen()).deliveries(hook.webhookId, { limit: 9 });
    expect(more).toEqual([]);
    const data = { response_id: a.runId, session_id: a.sessionId, harness_id: a.harnessId, status: shown };
    expect(delivery).toEqual({
      deliveryId: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      webhookId: hook.webhookId,
      event: `response.${shown}`,
      body: { type: `response.${shown}`, timestamp: '1970-01-01T00:00:05.000Z', data },
      attempt: 0,
      status: 'pending',
      httpStatus: null,
      error: null,
      createdAtMs: 5_000,
      attemptedAtMs: null,
      nextAttemptAtMs: 5_000,
    });
  });

  test('UR-51: what a person is asked for is stored with its delivery, each approval with its own', async () => {
    const { store } = await fresh();
    const hook = webhookOf('w');
    await store.addWebhook(hook, 99);
    const a = await admitted(store, 'a');
    const [asked, uncertain] = [pendingOf('1', a.runId), pendingOf('2', a.runId, { kind: 'recovery' })];
    await write(store, a, [requestDraft(asked), requestDraft(uncertain), requestDraft(pendingOf('3', a.runId), ['s'])]);
    expect((await bodies(store, hook)).toReversed()).toMatchObject([
      { type: 'reins.approval_required', data: { status: 'in_progress', approval_id: asked.approvalId } },
      { type: 'reins.recovery_required', data: { response_id: a.runId, approval_id: uncertain.approvalId } },
      { type: 'reins.approval_required', data: { approval_id: pendingOf('3', a.runId).approvalId } },
    ]);
    const deliveries = await store.deliveries(hook.webhookId, { limit: 9 });
    expect(new Set(deliveries.map(({ deliveryId }) => deliveryId)).size).toBe(3);
  });

  test('UR-40: a webhook gets what it wants, of its principal, while it is enabled, and never what a sub-agent does', async () => {
    const { store } = await fresh();
    const hooks = [
      webhookOf('all'),
      webhookOf('failures', { events: ['response.failed', 'reins.approval_required'] }),
      webhookOf('none', { events: [] }),
      webhookOf('off', { enabled: false }),
      webhookOf('else', { principal: 'else' }),
    ];
    for (const hook of hooks) await store.addWebhook(hook, 99);
    const [a, b] = [await admitted(store, 'a'), await admitted(store, 'b')];
    const s = admissionOf('s', { parentRunId: a.runId });
    await store.admit(s);
    await ended(store, s, { status: 'failed', response: null });
    await ended(store, a, { status: 'completed', response: null });
    await ended(store, b, { status: 'failed', response: null });
    const got = await Promise.all(hooks.map(async (hook) => (await bodies(store, hook)).map(({ type }) => type)));
    expect(got).toEqual([['response.failed', 'response.completed'], ['response.failed'], [], [], []]);
    const ids = await Promise.all(
      hooks.map(async ({ webhookId }) => (await store.deliveries(webhookId, { limit: 9 }))[0]?.deliveryId),
    );
    expect(ids[0]).not.toBe(ids[1]);
  });

  test('L3: a refused append stores no delivery', async () => {
    const { store } = await fresh();
    const hook = webhookOf('w');
    await store.addWebhook(hook, 99);
    const a = await admitted(store, 'a');
    await ended(store, a, { status: 'completed', response: null, after: 9 });
    expect(await bodies(store, hook)).toEqual([]);
  });

  test('UR-40: webhooks are kept as they were put, listed by principal, oldest first, and go with their deliveries', async () => {
    const { store, reopen } = await fresh();
    const first = webhookOf('1', { events: ['response.failed'], description: 'Ours', enabled: false });
    const second = webhookOf('2', { createdAtMs: 2_000 });
    for (const hook of [second, first, webhookOf('x', { principal: 'else' })]) await store.addWebhook(hook, 99);
    const change = { url: 'https://example.org', enabled: true };
    expect(await store.changeWebhook(first.webhookId, change)).toEqual({ ...first, ...change });
    const other = await reopen();
    expect(await other.webhooks('owner')).toEqual([{ ...first, ...change }, second]);
    await store.putDelivery(deliveryOf('d', first.webhookId));
    expect(await store.deleteWebhook(first.webhookId)).toBe(true);
    expect(await store.deleteWebhook(first.webhookId)).toBe(false);
    expect(await other.webhook(first.webhookId)).toBeNull();
    expect(await other.deliveries(first.webhookId, { limit: 9 })).toEqual([]);
    expect(await other.webhook(second.webhookId)).toEqual(second);
  });
}

function describeChanges(fresh: Fresh): void {
  test('UR-40: of many that are added at once, through two processes, a principal has as many as it may have', async () => {
    const { store, reopen } = await fresh();
    const stores = [store, await reopen()];
    await store.addWebhook(webhookOf('x', { principal: 'else' }), 3);
    const added = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (stores[index % 2] ?? store).addWebhook(webhookOf(`${index}`), 3)),
    );
    expect(added.filter(Boolean)).toHaveLength(3);
    expect(await store.webhooks('owner')).toHaveLength(3);
  });

  test('UR-40: a change sets what it names, and leaves what others have set meanwhile', async () => {
    const { store, reopen } = await fresh();
    const hook = webhookOf('w', { description: 'Ours' });
    const { webhookId } = hook;
    await store.addWebhook(hook, 9);
    await (await reopen()).changeWebhook(webhookId, { enabled: false });
    const changed = { ...hook, enabled: false, events: ['response.failed'], description: null };
    expect(await store.changeWebhook(webhookId, { events: ['response.failed'], description: null })).toEqual(changed);
    expect(await store.webhook(webhookId)).toEqual(changed);
  });

  test('UR-51: one that is elsewhere now is not changed for what its old url said; one that is deleted stays so', async () => {
    const { store } = await fresh();
    const hook = webhookOf('w');
    const { webhookId, url } = hook;
    await store.addWebhook(hook, 9);
    await store.changeWebhook(webhookId, { url: 'https://example.org' });
    expect(await store.changeWebhook(webhookId, { enabled: false }, url)).toBeNull();
    expect(await store.webhook(webhookId)).toMatchObject({ url: 'https://example.org', enabled: true });
    await store.deleteWebhook(webhookId);
    expect(await store.changeWebhook(webhookId, { enabled: true })).toBeNull();
    expect(await store.webhook(webhookId)).toBeNull();
  });
}

function describeDeliveries(fresh: Fresh): void {
  const due = { nowMs: 2_000, untilMs: 3_000, limit: 99, except: { webhooks: [], principals: [] } };
  const ids = (deliveries: readonly { readonly deliveryId: string }[]) =>
    deliveries.map(({ deliveryId }) => deliveryId).toSorted();
  const waiting = async (store: Store, count: number) => {
    await store.addWebhook(webhookOf('w'), 99);
    const names = Array.from({ length: count }, (_, index) => `d${String(index).padStart(2, '0')}`);
    for (const name of names) await store.putDelivery(deliveryOf(name, webhookIds.make('w')));
    return names;
  };

  test('UR-51: of many who claim through two processes each delivery is of one', async () => {
    const { store, reopen } = await fresh();
    const stores = [store, await reopen()];
    const names = await waiting(store, 40);
    const claims = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        (stores[index % 2] ?? store).claimDeliveries({ ...due, limit: 3 }),
      ),
    );
    expect(Math.max(...claims.map(({ length }) => length))).toBe(3);
    expect(ids(claims.flat())).toEqual(names);
    expect(await store.claimDeliveries(due)).toEqual([]);
  });

  test('UR-51: what was claimed and never settled is due again, as the next attempt', async () => {
    const { store } = await fresh();
    await waiting(store, 1);
    expect(await store.claimDeliveries(due)).toMatchObject([{ deliveryId: 'd00', attempt: 1 }]);
    expect(await store.claimDeliveries({ ...due, nowMs: 2_999 })).toEqual([]);
    expect(await store.claimDeliveries({ ...due, nowMs: 3_000, untilMs: 4_000 })).toMatchObject([{ attempt: 2 }]);
  });

  test('UR-51: oldest first come those that are due, of enabled webhooks and principals that have not enough under way', async () => {
    const { store } = await fresh();
    const hooks = [webhookOf('w'), webhookOf('slow'), webhookOf('off', { enabled: false })];
    for (const hook of [...hooks, webhookOf('theirs', { principal: 'else' })]) await store.addWebhook(hook, 99);
    const put = (name: string, hook: string, nextAttemptAtMs: number) =>
      store.putDelivery(deliveryOf(name, webhookIds.make(hook), { nextAttemptAtMs }));
    await put('second', 'w', 1_500);
    await put('first', 'w', 1_400);
    await put('later', 'w', 2_001);
    await put('other', 'slow', 1_300);
    await put('silent', 'off', 1_300);
    await put('theirs', 'theirs', 1_300);
    expect(await store.pendingDeliveries()).toBe(5);
    const except = { webhooks: [webhookIds.make('slow')], principals: ['else'] };
    const claimed = await store.claimDeliveries({ ...due, except });
    expect(claimed.map(({ deliveryId }) => deliveryId)).toEqual(['first', 'second']);
    expect(claimed.map(({ principal }) => principal)).toEqual(['owner', 'owner']);
    expect(ids(await store.claimDeliveries({ ...due, nowMs: 2_001 }))).toEqual(['later', 'other', 'theirs']);
    await store.changeWebhook(webhookIds.make('off'), { enabled: true });
    expect(ids(await store.claimDeliveries(due))).toEqual(['silent']);
  });

  test('UR-51: a settled attempt is tried again when it says so, or never; what never is, is forgotten in time', async () => {
    const { store } = await fresh();
    const [retried, done] = await waiting(store, 2);
    if (retried === undefined || done === undefined) throw new Error('There are no deliveries.');
    await store.claimDeliveries(due);
    const failed = { httpStatus: 500, error: 'The receiver answered 500.', attemptedAtMs: 2_000 };
    await store.settleDelivery(retried, { ...failed, status: 'pending', nextAttemptAtMs: 2_500 });
    await store.settleDelivery(done, delivered);
    expect(await store.claimDeliveries({ ...due, nowMs: 2_499 })).toEqual([]);
    expect(await store.claimDeliveries({ ...due, nowMs: 2_500 })).toMatchObject([{ ...failed, attempt: 2 }]);
    expect(await store.deliveries(webhookIds.make('w'), { limit: 1 })).toMatchObject([{ ...delivered, attempt: 1 }]);
    expect(await store.pruneDeliveries(2_000)).toBe(0);
    expect(await store.pruneDeliveries(2_001)).toBe(1);
    expect(ids(await store.deliveries(webhookIds.make('w'), { limit: 9 }))).toEqual([retried]);
  });

  test('deliveries are listed newest first, and pages stay while more come', async () => {
    const { store } = await fresh();
    await waiting(store, 5);
    const page = async (after?: string) => {
      const found = await store.deliveries(webhookIds.make('w'), { limit: 2, ...(after !== undefined && { after }) });
      return found.map(({ deliveryId }) => deliveryId);
    };
    expect(await page()).toEqual(['d04', 'd03']);
    await store.putDelivery(deliveryOf('d05', webhookIds.make('w')));
    expect(await page('d03')).toEqual(['d02', 'd01']);
    expect(await page('d01')).toEqual(['d00']);
    expect(await page('d00')).toEqual([]);
  });
}
