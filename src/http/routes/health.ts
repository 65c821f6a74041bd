import { within } from '../../core/within.ts';
import type { Metrics } from '../metrics.ts';
import type { Route } from '../route.ts';
import type { Services } from '../../tasks/services.ts';

type Asked = Pick<Services, 'store' | 'runs' | 'clock'>;

/** How long the store may take before this server is no good to anybody. */
const storeMs = 1_000;

/** For whoever supervises the process. No data, so no key (U-040); the figures want one of the operator's. */
export function healthRoutes(services: Asked, metrics: Metrics | null): readonly Route[] {
  return [
    // It answers, so its event loop turns (B045).
    { path: '/healthz', verbs: { GET: { open: true, handle: () => ({ status: 'ok' }) } } },
    {
      path: '/readyz',
      verbs: {
        GET: {
          open: true,
          async handle({ reply }) {
            const reason = await whyNotReady(services);
            if (reason === null) return { status: 'ok' };
            reply.code(503);
            return { status: 'unavailable', reason };
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

async function whyNotReady({ store, runs, clock }: Asked): Promise<'closing' | 'store' | null> {
  if (runs.isDraining) return 'closing';
  let answered = false;
  // Any small read: what counts is that it comes back.
  const read = async () => void (await store.owners());
  await within(
    read().then(() => (answered = true)),
    { clock, ms: storeMs },
  );
  return answered ? null : 'store';
}
