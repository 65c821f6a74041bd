// What contract suites do to a store, in one line each.

import { expect } from 'vitest';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import type { FinalStatus } from '../core/outcome.ts';
import type { Append, Store } from '../stores/store.ts';
import type { Admission } from '../stores/admission.ts';
import { admissionOf, noteDraft, resultDraft, stampAll } from './store-samples.ts';

export async function admitted(store: Store, name: string): Promise<Admission> {
  const admission = admissionOf(name);
  expect(await store.admit(admission)).toMatchObject({ outcome: 'admitted' });
  return admission;
}

export function entry({ runId, sessionId }: Admission, after: number, change: Partial<Append> = {}): Append {
  return { runId, generation: 1, after, events: stampAll([noteDraft('note')], runId, sessionId), ...change };
}

export async function write(
  store: Store,
  admission: Admission,
  drafts: readonly EventDraft[],
): Promise<readonly RunEvent[]> {
  const events = stampAll(drafts, admission.runId, admission.sessionId);
  const after = await lastSeq(store, admission);
  const [result] = await store.append([entry(admission, after, { events })], { durable: false });
  return result?.outcome === 'stored' ? result.events : [];
}

export async function finish(
  store: Store,
  { runId, sessionId }: Admission,
  after: number,
  { status = 'completed', generation = 1 }: { readonly status?: FinalStatus; readonly generation?: number } = {},
): Promise<void> {
  const events = stampAll([resultDraft(runId, sessionId, status)], runId, sessionId);
  const end = { status, response: { output: 'done' }, atMs: 5_000 } as const;
  await store.append([{ runId, generation, after, events, end }], { durable: true });
}

export async function lastSeq(store: Store, { runId }: Admission): Promise<number> {
  return (await store.run(runId))?.lastSeq ?? 0;
}

export async function readAll(
  store: Store,
  { runId }: Admission,
  { after = 0, ...which }: { readonly after?: number; readonly committedOnly?: true } = {},
): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for (let cursor = after; ;) {
    const page = await store.readEvents(runId, { after: cursor, limit: 7, ...which });
    events.push(...page);
    const last = page.at(-1);
    if (last === undefined) return events;
    cursor = last.seq;
  }
}
