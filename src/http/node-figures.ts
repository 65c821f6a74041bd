import { Counter, Gauge, type Registry } from 'prom-client';
import type { Services } from '../tasks/services.ts';

export interface ShownNode extends Pick<Services, 'log' | 'store' | 'owner' | 'ownership'> {
  readonly version: string;
}

/** What tells this server from the others of its database, and how it gets on with that. */
export function showNode(registers: Registry[], { log, store, owner, ownership, version }: ShownNode): void {
  function gauge(name: string, help: string, read: () => number): void {
    const shown: Gauge = new Gauge({ name, help, registers, collect: () => shown.set(read()) });
  }
  new Gauge({
    name: 'reins_node_info',
    help: 'Always 1: the name under which this process owns tasks, and what it runs.',
    labelNames: ['node', 'version'],
    registers,
  }).set({ node: owner, version }, 1);
  gauge(
    'reins_lease_age_seconds',
    `Since the store took note that this process lives; at ${ownership.policy.leaseMs / 1_000} others take its tasks over.`,
    () => ownership.silentMs() / 1_000,
  );
  gauge(
    'reins_followers_elsewhere',
    'Readers here that wait for what another process writes.',
    () => log.elsewhere.waiting,
  );
  const looks: Counter = new Counter({
    name: 'reins_follower_looks_total',
    help: 'Queries by which they look, all together, for news.',
    registers,
    collect() {
      looks.reset();
      looks.inc(log.elsewhere.looks);
    },
  });
  const { figures } = store;
  if (figures === undefined) return;
  gauge('reins_store_connections_open', 'Connections to the database.', () => figures().connections.open);
  gauge(
    'reins_store_connections_used',
    'Connections to the database that are at work.',
    () => figures().connections.used,
  );
  gauge('reins_store_waiting', 'Pieces of work that wait for a connection.', () => figures().waiting);
  gauge('reins_store_listening', '1: hears of other nodes at once; 0: only by looking each second.', () =>
    figures().isListening === true ? 1 : 0,
  );
}
