import { Connection } from '@temporalio/client';
import { createRunScheduler } from './run-scheduler.ts';
import type { RunScheduler } from '../../tasks/run-scheduler.ts';
import type { RunWorker, WorkOptions } from './open-worker.ts';
import type { Services } from '../../tasks/services.ts';

export interface TemporalAddress {
  /** Host and port of the frontend; absent: `localhost:7233`. */
  readonly address?: string;
  /** Absent: `default`. */
  readonly namespace?: string;
  /** Of all processes that share the store; absent: `reins`. */
  readonly taskQueue?: string;
  /** Certificates in PEM; `true`: those of the system. Absent: the connection is plain, unless there is a key. */
  readonly tls?: boolean | { readonly ca?: Buffer; readonly certificate?: Buffer; readonly key?: Buffer };
  readonly apiKey?: string;
}

export interface TemporalLink {
  readonly scheduler: RunScheduler;
  /** Works for it from now on. */
  work(services: Services, options: WorkOptions): RunWorker;
  close(): Promise<void>;
}

/** Does not connect before there is something to say. @param services  Asked for late: they are made with this. */
export function openTemporal(services: () => Services, options: TemporalAddress): TemporalLink {
  const { namespace = 'default', taskQueue = 'reins' } = options;
  const connection = connectionOf(options);
  const client = Connection.lazy(connection);
  const place = { namespace, taskQueue };
  return {
    scheduler: createRunScheduler(services, client, place),
    work(of, work) {
      // Who only schedules has no use for the worker's native parts.
      const opened = import('./open-worker.ts').then(({ openWorker }) =>
        openWorker(of, { ...place, connection, ...work }),
      );
      opened.catch((cause: unknown) => of.logger.error('Nothing can be worked on for Temporal here.', place, cause));
      const began = opened.then((worker) => worker.began);
      // Whoever waits for it hears of the fault; it need not be waited for.
      began.catch(() => {});
      return {
        began,
        async stop() {
          const worker = await opened.catch(() => null);
          await worker?.stop();
        },
      };
    },
    close: () => client.close(),
  };
}

export function connectionOf({ address = 'localhost:7233', tls, apiKey }: TemporalAddress) {
  const { ca, certificate: crt, key } = typeof tls === 'object' ? tls : {};
  const pair = crt === undefined || key === undefined ? {} : { clientCertPair: { crt, key } };
  const custom = { ...(ca === undefined ? {} : { serverRootCACertificate: ca }), ...pair };
  return {
    address,
    ...(tls === undefined ? {} : { tls: typeof tls === 'object' ? custom : tls }),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}
