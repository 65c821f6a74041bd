import { toDiscovery, type Discovery } from '../../protocol/uhp/discovery.ts';
import type { Route } from '../route.ts';

/** `GET /v1/uhp`: open, and the same for everybody (U-030). */
export function discoveryRoutes(implementation: Discovery['implementation']): readonly Route[] {
  const discovery = toDiscovery(
    {
      streaming: true,
      sessions: true,
      cancellation: true,
      harness_management: true,
      plugins: true,
      idempotency: true,
      files_input: true,
      files_output: true,
      session_listing: true,
      session_sharing: true,
      reins_events: true,
      reins_approvals: true,
      reins_steering: true,
      reins_queue: true,
    },
    implementation,
  );
  return [{ path: '/v1/uhp', verbs: { GET: { open: true, handle: () => discovery } } }];
}
