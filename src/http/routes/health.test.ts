import { expect, test } from 'vitest';
import { createManualClock } from '../../testing/manual-clock.ts';
import { healthRoutes } from './health.ts';
import type { OpenCall } from '../route.ts';

type Asked = Parameters<typeof healthRoutes>[0];

/** What `/readyz` says with such a store. */
async function ask(owners: () => Promise<readonly never[]>, { isDraining = false, waitMs = 0 } = {}) {
  const clock = createManualClock();
  const verb = healthRoutes({ store: { owners }, runs: { isDraining }, clock } as unknown as Asked, null).find(
    ({ path }) => path === '/readyz',
  )?.verbs.GET;
  let status = 200;
  const reply = { code: (code: number) => (status = code) };
  const answer = verb?.open === true ? verb.handle({ reply } as unknown as OpenCall) : null;
  if (waitMs > 0) await clock.advance(waitMs);
  const body = await answer;
  return [status, body];
}

test('ready is who takes tasks and whose store answers within a second; else the reason is told', async () => {
  const unavailable = (reason: string) => [503, { status: 'unavailable', reason }];
  expect(await ask(async () => [])).toEqual([200, { status: 'ok' }]);
  expect(await ask(async () => [], { isDraining: true })).toEqual(unavailable('closing'));
  expect(await ask(() => Promise.reject(new Error('disk')))).toEqual(unavailable('store'));
  expect(await ask(() => new Promise(() => {}), { waitMs: 1_000 })).toEqual(unavailable('store'));
});
