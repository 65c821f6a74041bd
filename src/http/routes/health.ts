import type { Route } from '../route.ts';

/** For whoever supervises the process: it answers, so its event loop turns (B045). No data, so no key (U-040). */
export const healthRoutes: readonly Route[] = ['/healthz', '/readyz'].map((path) => ({
  path,
  verbs: { GET: { open: true, handle: () => ({ status: 'ok' }) } },
}));
