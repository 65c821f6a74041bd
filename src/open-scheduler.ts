// Who starts a server's engine runs where the operator names a Temporal: that, and its workers, in place of the server.

import { ConfigurationError } from './core/errors.ts';
import { readFileSync } from 'node:fs';
import { loadOptional } from './load-optional.ts';
import { reasonOf } from './reason-of.ts';
import type { Clock } from './core/clock.ts';
import type { Config } from './config.ts';
import type { Repeated } from './tasks/repeat.ts';
import type { Services } from './tasks/services.ts';
import type { TemporalAddress, TemporalLink } from './runtimes/temporal/open-temporal.ts';
import type { TemporalLook } from './runtimes/temporal/look-at-temporal.ts';

const needed = {
  what: "'temporal.address'",
  packages: ['client', 'worker', 'workflow', 'activity', 'common'].map((name) => `@temporalio/${name}`),
};

/**
 * Null: each server starts what it admits.
 * @param services  Asked for late: they are made with this.
 * @throws ConfigurationError  Its client is not there, or a file of `temporal.tls`.
 */
export async function openScheduler(
  { temporal }: Pick<Config, 'temporal'>,
  services: () => Services,
): Promise<TemporalLink | null> {
  const address = temporalOf(temporal);
  if (address === null) return null;
  const { openTemporal } = await loadOptional(() => import('./runtimes/temporal/open-temporal.ts'), needed);
  return openTemporal(services, address);
}

/** Null: the settings name none. @throws ConfigurationError  A file of `temporal.tls`, or its client, is not there. */
export async function lookAtScheduler(
  { temporal }: Pick<Config, 'temporal'>,
  limits: { readonly clock: Clock; readonly withinMs: number },
): Promise<TemporalLook | null> {
  const address = temporalOf(temporal);
  if (address === null) return null;
  const { lookAtTemporal } = await loadOptional(() => import('./runtimes/temporal/look-at-temporal.ts'), needed);
  return lookAtTemporal(address, limits);
}

const withinMs = 5_000;

/**
 * A server has begun, and may not hear for long that nobody can do its tasks: what can be seen of that is said, once.
 * `stop`: nothing is said any more; what is being asked ends by itself.
 */
export function tellOfScheduler(config: Config, { clock, logger }: Pick<Services, 'clock' | 'logger'>): Repeated {
  const { address, namespace, taskQueue } = config.temporal;
  const place = { address, namespace, taskQueue };
  let isStopped = false;
  lookAtScheduler(config, { clock, withinMs }).then(
    (seen) => {
      if (isStopped || seen === null || seen.workers > 0) return;
      logger.info('Nobody works for Temporal here yet (reins worker): tasks of the engine wait for the first.', place);
    },
    (cause: unknown) => {
      if (isStopped) return;
      const told =
        'Temporal cannot be asked (temporal.address, temporal.namespace): tasks of the engine wait meanwhile.';
      logger.warn(told, { ...place, reason: reasonOf(cause) });
    },
  );
  return {
    async stop() {
      isStopped = true;
    },
  };
}

function temporalOf({ address, namespace, taskQueue, tls, apiKey }: Config['temporal']): TemporalAddress | null {
  if (address === null) return null;
  return {
    address,
    namespace,
    taskQueue,
    ...(typeof tls === 'boolean' ? (tls ? { tls } : {}) : { tls: certificatesOf(tls) }),
    ...(apiKey === null ? {} : { apiKey }),
  };
}

/** What a worker loads beyond that. @throws ConfigurationError  It is not there. */
export async function requireWorker(): Promise<void> {
  await loadOptional(() => import('./runtimes/temporal/open-worker.ts'), needed);
}

function certificatesOf({ caFile, certFile, keyFile }: Exclude<Config['temporal']['tls'], boolean>) {
  return {
    ...(caFile === undefined ? {} : { ca: fileOf(caFile) }),
    ...(certFile === undefined ? {} : { certificate: fileOf(certFile) }),
    ...(keyFile === undefined ? {} : { key: fileOf(keyFile) }),
  };
}

function fileOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new ConfigurationError(`'temporal.tls': ${path} cannot be read.`, { cause });
  }
}
