import { expect, test } from 'vitest';
import { createManualClock } from '../../testing/manual-clock.ts';
import { healthRoutes } from './health.ts';
import type { OpenCall } from '../route.ts';

type Asked = Parameters<typeof healthRoutes>[0];

const policy = { leaseMs: 30_000, renewEveryMs: 10_000, agentWaitMs: 600_000 };

/** What a probe is told with such a store. */
async function ask(
  owners: () => Promise<readonly never[]>,
  { path = '/readyz', isLeaving = false, silentMs = 0, waitMs = 0 } = {},
) {
  const clock = createManualClock();
  const ownership = { policy, silentMs: () => silentMs };
  const asked = { store: { owners }, runs: { isLeaving }, clock, owner: 'n1', ownership } as unknown as Asked;
  const verb = healthRoutes(asked, null).find((route) => route.path === path)?.verbs.GET;
  let status = 200;
  const reply = { code: (code: number) => (status = code) };
  const answer = verb?.open === true ? verb.handle({ reply } as unknown as OpenCall) : null;
  if (waitMs > 0) await clock.advance(waitMs);
  const body = await answer;
  return [status, body];
}

const ok = [200, { status: 'ok', node: 'n1' }];
const unavailable = (reason: string) => [503, { status: 'unavailable', reason, node: 'n1' }];
const never = () => new Promise<readonly never[]>(() => {});

test('ready is who takes tasks, whose store answers within a second, and of whom others hear; else the reason is told', async () => {
  expect(await ask(async () => [])).toEqual(ok);
  expect(await ask(async () => [], { isLeaving: true })).toEqual(unavailable('closing'));
  expect(await ask(() => Promise.reject(new Error('disk')))).toEqual(unavailable('store'));
  expect(await ask(never, { waitMs: 1_000 })).toEqual(unavailable('store'));
  expect(await ask(async () => [], { silentMs: 14_999 })).toEqual(ok);
  expect(await ask(async () => [], { silentMs: 15_000 })).toEqual(unavailable('lease'));
});

test('B045: who goes, or whose store is gone, lives: to start it anew would mend nothing', async () => {
  for (const state of [{}, { isLeaving: true }, { silentMs: 60_000 }])
    expect(await ask(never, { path: '/healthz', ...state })).toEqual(ok);
});
