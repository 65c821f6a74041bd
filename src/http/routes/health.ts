import { within } from '../../core/within.ts';
import type { Metrics } from '../metrics.ts';
import type { Route } from '../route.ts';
import type { Services } from '../../tasks/services.ts';

type Asked = Pick<Services, 'store' | 'runs' | 'clock' | 'owner' | 'ownership'>;

/** How long the store may take before this server is no good to anybody. */
const storeMs = 1_000;

/** For whoever supervises the process. No data, so no key (U-040); the figures want one of the operator's. */
export function healthRoutes(services: Asked, metrics: Metrics | null): readonly Route[] {
  const { owner: node } = services;
  return [
    // It answers, so its event loop turns (B045). The store is not asked: to start anew mends no database.
    { path: '/healthz', verbs: { GET: { open: true, handle: () => ({ status: 'ok', node }) } } },
    {
      path: '/readyz',
      verbs: {
        GET: {
          open: true,
          async handle({ reply }) {
            const reason = await whyNotReady(services);
            if (reason === null) return { status: 'ok', node };
            reply.code(503);
            return { status: 'unavailable', reason, node };
          },
        },
      },
    },
    {
      path: '/metrics',
      verbs: {
        GET: {
          scope: 'admin',
          async handle({ reply }) {
            if (metrics === null) return '';
            reply.type(metrics.contentType);
            return metrics.render();
          },
        },
      },
    },
  ];
}

async function whyNotReady({ store, runs, clock, ownership }: Asked): Promise<'closing' | 'store' | 'lease' | null> {
  if (runs.isLeaving) return 'closing';
  let answered = false;
  // Any small read: what counts is that it comes back.
  const read = async () => void (await store.owners());
  await within(
    read().then(() => (answered = true)),
    { clock, ms: storeMs },
  );
  if (!answered) return 'store';
  // What can be read may still not be written: so with a standby that was not promoted, or a full disk.
  return ownership.silentMs() < ownership.policy.leaseMs / 2 ? null : 'lease';
}
