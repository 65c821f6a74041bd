import type { Capabilities, Discovery } from '../protocol/uhp/discovery.ts';
import type { ServerFacts } from './client-parts.ts';
import type { Transport } from './transport.ts';
import type { VerbOptions } from './shapes.ts';

/** A capability that a server does not name is false (U-032). Of the protocol's files the client loads types only: it is for browsers. */
const nothing: Capabilities = {
  streaming: false,
  sessions: false,
  cancellation: false,
  files_input: false,
  files_output: false,
  session_listing: false,
  harness_management: false,
  session_sharing: false,
  idempotency: false,
  plugins: false,
  environments: false,
  memories: false,
  reins_events: false,
  reins_approvals: false,
  reins_steering: false,
  reins_queue: false,
};

export async function probe(transport: Transport, options?: VerbOptions): Promise<ServerFacts> {
  const discovery = await transport.json<Discovery>({ path: '/v1/uhp', ...options });
  return { ...discovery, capabilities: { ...nothing, ...discovery.capabilities } };
}
