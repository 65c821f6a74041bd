// A server from the moment its parts are there: it listens, or works for Temporal, and ends in order (E-834).

import { ConfigurationError, RuntimeStateError } from './core/errors.ts';
import { createOwnerKey } from './auth/keys.ts';
import { readTls } from './http/read-tls.ts';
import { repeat, type Repeated } from './tasks/repeat.ts';
import { requireWorker, tellOfScheduler } from './open-scheduler.ts';
import { sleep } from './core/clock.ts';
import { startUpkeep } from './assemble-services.ts';
import { superviseRuns } from './tasks/supervise-runs.ts';
import { sweepBundles } from './place-bundle.ts';
import type { Config } from './config.ts';
import type { Console } from './open-console.ts';
import type { DataFolder } from './data-folder.ts';
import type { Homes } from './harnesses/foreign/homes.ts';
import type { HttpServer } from './http/route-server.ts';
import type { RunWatch } from './runtimes/watch-runs.ts';
import type { RunWorker } from './runtimes/temporal/open-worker.ts';
import type { Server } from './server.ts';
import type { Services } from './tasks/services.ts';
import type { TemporalLink } from './runtimes/temporal/open-temporal.ts';
import type { Webhooks } from './webhooks/manage-webhooks.ts';

export interface LifecycleParts {
  readonly config: Config;
  readonly services: Services;
  readonly folder: DataFolder;
  /** One process at a time does what is to be done once for a store. */
  readonly alone: DataFolder['alone'];
  readonly homes: Homes;
  readonly http: HttpServer;
  readonly console: Console;
  readonly webhooks: Webhooks;
  readonly temporal: TemporalLink | null;
  readonly watch: RunWatch;
  /** Told where it listens, as the settings may leave the port open. */
  readonly onListening: (url: string) => void;
  /** Let go of at the very end. */
  readonly rest: AsyncDisposable;
}

type Life =
  | { readonly at: 'opened' }
  | { readonly at: 'listening'; readonly upkeep: readonly Repeated[] }
  | { readonly at: 'working'; readonly upkeep: readonly Repeated[]; readonly worker: RunWorker };

const sweepBundlesEveryMs = 600_000;
/** Certificates are renewed in place by other programs. */
const renewTlsEveryMs = 60_000;

export function createLifecycle(parts: LifecycleParts): Server {
  const { config, services, folder, alone, homes, http, console, webhooks, temporal, watch, onListening, rest } = parts;
  const { limits, server } = config;
  const { clock, logger, runs } = services;
  let life: Life = { at: 'opened' };
  let closing: Promise<void> | null = null;

  async function takeUp(): Promise<void> {
    const ended = await homes.endLeftovers();
    if (ended > 0) logger.warn('Processes of agents that an earlier server left were ended.', { processes: ended });
    await superviseRuns(services);
    await services.ownership.renew();
  }

  function refuseClosed(): void {
    if (closing !== null) throw new RuntimeStateError('This server is closed.');
  }

  const keepUp = () => [startUpkeep(services), keepBundles(services, server.dataDir)];

  async function end(): Promise<void> {
    await using _rest = rest;
    runs.leave();
    // Nobody sends anything to who does not listen.
    if (life.at === 'listening' && limits.withdrawSeconds > 0) await sleep(clock, limits.withdrawSeconds * 1_000);
    const worker = life.at === 'working' ? life.worker : null;
    // What is at work ends in front of its readers, and hears of a cancel, from elsewhere too.
    await Promise.all([worker?.stop(), runs.drain({ withinMs: limits.drainSeconds * 1_000 })]);
    const upkeep = life.at === 'opened' ? [] : life.upkeep;
    await Promise.all([http.close(), ...upkeep.map((each) => each.stop()), webhooks.delivery.stop()]);
    await services.log.close();
    await leaveStore(services);
  }

  return {
    async listen() {
      await takeUp();
      const url = await http.listen(server.host, server.port);
      onListening(url);
      folder.announce(url);
      refuseClosed();
      const upkeep = [...keepUp(), renewTls(http, config, services), tellOfScheduler(config, services)];
      life = { at: 'listening', upkeep };
      const firstKey = server.apiKey === null ? await alone(() => ensureKey(services, folder)) : null;
      return { url, firstKey, consoleUrl: await console.link(url) };
    },
    async work() {
      if (temporal === null)
        throw new ConfigurationError(`A worker needs 'temporal.address', or REINS_TEMPORAL_ADDRESS.`);
      await requireWorker();
      await takeUp();
      refuseClosed();
      const worker = temporal.work(services, { watch, concurrent: config.temporal.concurrent });
      life = { at: 'working', upkeep: keepUp(), worker };
      await worker.began;
    },
    close: () => (closing ??= end()),
  };
}

/** The store may be what this process goes for. */
async function leaveStore({ ownership, logger }: Services): Promise<void> {
  const told = 'Others take this process for alive until its lease has ended.';
  await ownership.leave().catch((cause: unknown) => logger.warn(told, { cause: String(cause) }));
}

function renewTls(http: HttpServer, { server: { tls } }: Config, { clock, logger }: Services): Repeated {
  return repeat(clock, {
    everyMs: renewTlsEveryMs,
    work: async () => tls === null || http.renewTls(readTls(tls, clock.now())),
    onFailure: (cause) => logger.error('The certificate cannot be read again; the old one stays in use.', {}, cause),
  });
}

function keepBundles({ store, random, clock, logger }: Services, dataDir: string): Repeated {
  return repeat(clock, {
    everyMs: sweepBundlesEveryMs,
    work: () => sweepBundles({ store, random, dataDir }, clock.now()),
    onFailure: (cause) => logger.error('Files of skills and plugins that are gone could not be removed.', {}, cause),
  });
}

/** The first start without a key of the operator's makes one (UD-70); later starts know only its hash. */
async function ensureKey({ store, clock }: Services, folder: DataFolder): Promise<string | null> {
  if ((await store.keys()).length > 0) return null;
  const { key, record } = createOwnerKey(clock.now());
  folder.writeKey(key);
  await store.putKey(record);
  return key;
}
