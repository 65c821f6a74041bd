// What a principal may use (UR-53, U-424): how many tasks at once and a minute, and what they may spend a day. A day is one of
// UTC. Of what is counted nothing is in memory: it survives a restart, and holds over all servers of a data folder
// or a database.
//
// Q1. Whoever has spent a day's quota begins nothing more; who has some of it left may begin a task with that as its budget.
// Q2. A task is charged when it ends, so tasks that run at once, at whichever servers, may together pass a quota, each by no
//     more than what was left; `runningTasks` says how many that can be.
// Q3. What is judged before a transaction spares work; what holds is judged in it, so of two servers one takes what is last.

import { capReached, capWindowMs } from '../stores/principal-store.ts';
import { RateLimitedError, RequestError } from '../core/errors.ts';
import { asCount, totalTokens } from '../core/usage.ts';
import type { Append } from '../stores/store.ts';
import type { Admission } from '../stores/admission.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { Services } from './services.ts';
import type { Spending } from '../stores/principal-store.ts';

/** Null = no limit. */
export interface PrincipalLimits {
  readonly tasksPerMinute: number | null;
  readonly runningTasks: number | null;
  readonly tokensPerDay: number | null;
  readonly dollarsPerDay: number | null;
  readonly uploadBytesPerDay: number | null;
  /** Canonical names of the models that it may ask for; absent as null. */
  readonly models?: readonly string[] | null;
}

/** Those of everybody, and what is different for some. */
export interface PrincipalLimitSettings extends PrincipalLimits {
  readonly principals: Readonly<Record<string, Partial<PrincipalLimits>>>;
}

const noLimits: PrincipalLimits = {
  tasksPerMinute: null,
  runningTasks: null,
  tokensPerDay: null,
  dollarsPerDay: null,
  uploadBytesPerDay: null,
};

export function limitsOfPrincipal({ settings }: Pick<Services, 'settings'>, principal: string): PrincipalLimits {
  const { principals, ...everybody } = settings.principalLimits ?? { ...noLimits, principals: {} };
  return { ...everybody, ...(Object.hasOwn(principals, principal) ? principals[principal] : {}) };
}

/** Whether a principal may ask for a model, by its canonical name. */
export function mayUseModel(services: Pick<Services, 'settings'>, principal: string, name: string): boolean {
  return limitsOfPrincipal(services, principal).models?.includes(name) ?? true;
}

/** Judged in the transaction that admits a task. */
export function admissionLimits(
  services: Pick<Services, 'settings'>,
  { principal, atMs }: Pick<Admission, 'principal' | 'atMs'>,
): Pick<Admission, 'caps' | 'quota'> {
  const limits = limitsOfPrincipal(services, principal);
  const { runningTasks, tasksPerMinute, tokensPerDay: tokens, dollarsPerDay: dollars } = limits;
  return {
    ...(runningTasks === null && tasksPerMinute === null ? {} : { caps: { runningTasks, tasksPerMinute } }),
    ...(tokens === null && dollars === null ? {} : { quota: { day: dayOf(atMs), tokens, dollars } }),
  };
}

/** What is left of a day's quotas for one more task; null = no limit. */
export interface QuotaLeft {
  readonly tokens: number | null;
  readonly dollars: number | null;
}

/** Judged again in the transaction that admits a task. @throws RequestError  429 `quota_exhausted`: nothing is left of one. */
export async function quotaLeft(services: Services, principal: string): Promise<QuotaLeft> {
  const { tokensPerDay, dollarsPerDay } = limitsOfPrincipal(services, principal);
  if (tokensPerDay === null && dollarsPerDay === null) return { tokens: null, dollars: null };
  const spent = await spentToday(services, principal);
  return {
    tokens: leftOf({ quota: 'tokens', limit: tokensPerDay, used: spent.tokens }, services.clock.now()),
    dollars: leftOf({ quota: 'dollars', limit: dollarsPerDay, used: spent.dollars }, services.clock.now()),
  };
}

/** Judged again in the transaction that admits a task; here before anything is done for it. @throws RateLimitedError */
export async function refuseOverCaps(services: Services, principal: string): Promise<void> {
  const nowMs = services.clock.now();
  const { caps } = admissionLimits(services, { principal, atMs: nowMs });
  if (caps === undefined) return;
  const reached = capReached(caps, await services.store.taskCounts(principal, nowMs - capWindowMs), nowMs);
  if (reached !== null) throw new RateLimitedError(reached);
}

/** The bytes that a principal may still upload today; null = no limit. @throws RequestError  429 `quota_exhausted`. */
export async function uploadBytesLeft(services: Services, principal: string): Promise<number | null> {
  const { uploadBytesPerDay: limit } = limitsOfPrincipal(services, principal);
  if (limit === null) return null;
  const { uploadBytes: used } = await spentToday(services, principal);
  return leftOf({ quota: 'upload_bytes', limit, used }, services.clock.now());
}

/** Whether so many bytes have room is judged again when they are charged. @throws RequestError  429 `quota_exhausted`. */
export async function refuseUpload(services: Services, principal: string, bytes: number): Promise<void> {
  const left = bytes === 0 ? null : await uploadBytesLeft(services, principal);
  if (left !== null && bytes > left) throw await uploadQuotaExhausted(services, principal);
}

/** Uploaded bytes that are paid for, until they are given back. */
export interface UploadCharge {
  readonly release: () => Promise<void>;
}

/**
 * Charges bytes that a principal sends, however they come. Of many that come at once no more is let in than has room.
 * @throws RequestError  429 `quota_exhausted`: nothing is charged.
 */
export async function chargeUpload(services: Services, principal: string, bytes: number): Promise<UploadCharge> {
  const { store, clock } = services;
  if (bytes === 0) return { release: async () => {} };
  const day = dayOf(clock.now());
  const { uploadBytesPerDay: limit } = limitsOfPrincipal(services, principal);
  if (!(await store.reserveUpload(principal, day, { bytes, limit })))
    throw await uploadQuotaExhausted(services, principal);
  return { release: () => store.spend(principal, day, { uploadBytes: -bytes }) };
}

/** A file that has no room in what is left of the day. */
export async function uploadQuotaExhausted(services: Services, principal: string): Promise<RequestError> {
  const limit = limitsOfPrincipal(services, principal).uploadBytesPerDay ?? 0;
  const { uploadBytes: used } = await spentToday(services, principal);
  return quotaExhausted({ quota: 'upload_bytes', limit, used }, services.clock.now());
}

export function spentToday({ store, clock }: Services, principal: string): Promise<Spending> {
  return store.spending(principal, dayOf(clock.now()));
}

/** `YYYY-MM-DD`, UTC. */
function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

const dayMs = 86_400_000;

/** The day that a moment belongs to, in Unix seconds. */
export function dayAround(ms: number): { readonly startsAt: number; readonly resetsAt: number } {
  const startMs = ms - (ms % dayMs);
  return { startsAt: startMs / 1_000, resetsAt: (startMs + dayMs) / 1_000 };
}

interface Quota {
  readonly quota: 'tokens' | 'dollars' | 'upload_bytes';
  readonly limit: number;
  readonly used: number;
}

function leftOf({ limit, ...rest }: Omit<Quota, 'limit'> & { readonly limit: number | null }, nowMs: number) {
  if (limit === null) return null;
  if (rest.used >= limit) throw quotaExhausted({ limit, ...rest }, nowMs);
  return limit - rest.used;
}

export function quotaExhausted({ quota, used, limit }: Quota, nowMs: number): RequestError {
  const { resetsAt } = dayAround(nowMs);
  return new RequestError({
    status: 429,
    errorType: 'rate_limit_error',
    code: 'quota_exhausted',
    message: 'You have used what you may use today; it begins anew at detail.resets_at.',
    detail: { quota, used, limit, resets_at: resetsAt },
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(resetsAt - nowMs / 1_000))) },
  });
}

/** What the end of a run costs its principal: as far as anybody said what was used (UR-53). */
export function chargeOf(ending: readonly EventDraft[]): Pick<NonNullable<Append['end']>, 'spent'> {
  const last = ending.at(-1);
  if (last?.type !== 'run-result') return {};
  const { usage, cost } = last.data;
  // A harness of somebody's own may say anything.
  const tokens = usage === null ? null : asCount(totalTokens(usage));
  const dollars = Number.isFinite(cost.dollars) ? cost.dollars : null;
  return { spent: { ...(tokens === null ? {} : { tokens }), ...(dollars === null ? {} : { dollars }) } };
}
