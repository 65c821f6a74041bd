// What a server tells Prometheus. Where several work on one folder, a figure counts what happened at this one, unless it says
// otherwise.
//
// N1. No label holds what people chose: no principal, id, path or prompt; a base, a status or a route's pattern does.
// N2. What a run costs here is a few additions; the rest is reckoned when somebody asks.

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { countRelay, type RelayFigures } from './relay-figures.ts';
import { showNode } from './node-figures.ts';
import { within } from '../core/within.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Services } from '../tasks/services.ts';

export interface Metrics {
  /** Counts what the log of these services publishes, for as long as it does. */
  watch(services: Pick<Services, 'log' | 'runs' | 'store' | 'clock' | 'owner' | 'ownership'>): void;
  /** A stream of the route begins; call the first function at its first event, the second at its end. */
  openStream(route: string): { firstEvent(seconds: number): void; closed(): void };
  /** One transaction of the log is over. */
  committed(tookMs: number): void;
  /** A model call of another's agent is over (H-203). */
  relayed(call: RelayFigures): void;
  readonly contentType: string;
  render(): Promise<string>;
}

/** Of the store, for one figure: the others are needed most where it does not answer. */
const storeMs = 1_000;

export function createMetrics(version: string): Metrics {
  // Its own: several servers may live in one process.
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const started = new Counter({
    name: 'reins_tasks_started_total',
    help: 'Tasks accepted, by harness base.',
    labelNames: ['base'],
    registers,
  });
  const ended = new Counter({
    name: 'reins_tasks_ended_total',
    help: 'Tasks ended or put aside, by status.',
    labelNames: ['status'],
    registers,
  });
  const takenOver = new Counter({
    name: 'reins_tasks_taken_over_total',
    help: 'Tasks that go on here and were at work elsewhere, or in an earlier process.',
    registers,
  });
  const streams = new Gauge({
    name: 'reins_open_streams',
    help: 'Event streams with a reader, by route; feeds among them.',
    labelNames: ['route'],
    registers,
  });
  const firstEvent = new Histogram({
    name: 'reins_first_event_seconds',
    help: 'From the acceptance of a stream to its first event.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  const commits = new Histogram({
    name: 'reins_log_commit_seconds',
    help: 'What a transaction of the log took: events wait for it before anybody sees them.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
    registers,
  });

  function count(event: RunEvent): void {
    if (event.type === 'run-started' && event.seq === 1)
      started.inc({ base: event.data._config?.base ?? event.data._base ?? 'unknown' });
    if (event.type === 'run-started' && event.data.cause === 'recovery') takenOver.inc();
    if (event.type === 'run-result') ended.inc({ status: event.data.status });
  }

  return {
    watch(services) {
      const { log, runs, store, clock } = services;
      showNode(registers, { ...services, version });
      log.onPublish((_, events) => events.forEach(count));
      const running: Gauge = new Gauge({
        name: 'reins_tasks_running',
        help: 'Tasks at work or waiting for their turn here.',
        registers,
        collect: (): void => running.set(runs.running().length),
      });
      const pending: Gauge = new Gauge({
        name: 'reins_webhook_deliveries_pending',
        help: 'Deliveries to webhooks that are still to be made, by whichever server of the folder.',
        registers,
        async collect(): Promise<void> {
          pending.set(Number.NaN);
          const asked = store.pendingDeliveries().then((deliveries) => pending.set(deliveries));
          await within(asked, { clock, ms: storeMs });
        },
      });
    },
    openStream(route) {
      streams.inc({ route });
      return {
        firstEvent: (seconds) => firstEvent.observe(seconds),
        closed: () => streams.dec({ route }),
      };
    },
    committed: (tookMs) => commits.observe(tookMs / 1_000),
    relayed: countRelay(registers),
    contentType: registry.contentType,
    render: () => registry.metrics(),
  };
}
