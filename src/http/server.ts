import type { KeyRecord } from '../auth/keys.ts';
import type { Discovery } from '../protocol/uhp/discovery.ts';
import type { PdfPreview } from '../files/pdf-preview.ts';
import type { Services } from '../tasks/services.ts';
import { createRouteServer, type HttpServer, type RouteServerOptions } from './route-server.ts';
import { approvalRoutes } from './routes/approvals.ts';
import { discoveryRoutes } from './routes/discovery.ts';
import { harnessBundleRoutes } from './routes/harness-bundles.ts';
import { harnessFeedRoutes } from './routes/harness-feed.ts';
import { harnessRoutes } from './routes/harnesses.ts';
import { healthRoutes } from './routes/health.ts';
import { modelRoutes } from './routes/models.ts';
import { queueRoutes } from './routes/queue.ts';
import { responseRoutes } from './routes/responses.ts';
import { ruleRoutes } from './routes/rules.ts';
import { sessionFileRoutes } from './routes/session-files.ts';
import { shareRoutes } from './routes/shares.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { steeringRoutes } from './routes/steering.ts';
import { uploadRoutes } from './routes/uploads.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import type { Webhooks } from '../webhooks/manage-webhooks.ts';
import { createSendStream } from './send-stream.ts';

export interface HttpServerOptions {
  readonly services: Services;
  /** The key that the operator set for this process; it lives no longer than the setting, so it is not in the store. */
  readonly operatorKey: KeyRecord | null;
  readonly webhooks: Webhooks;
  /** Absent: documents are not shown as PDF. */
  readonly preview?: PdfPreview | null;
  readonly settings: RouteServerOptions['settings'] & {
    readonly implementation: Discovery['implementation'];
  };
}

/** The whole HTTP face of Reins: every route of the protocol that this server has. */
export function createHttpServer({
  services,
  operatorKey,
  webhooks,
  preview = null,
  settings,
}: HttpServerOptions): HttpServer {
  const { store, clock, random, logger } = services;
  const sendStream = createSendStream({ clock, logger });
  const routes = [
    ...healthRoutes,
    ...discoveryRoutes(settings.implementation),
    ...harnessRoutes(services),
    ...harnessBundleRoutes(services),
    ...harnessFeedRoutes(services, sendStream),
    ...modelRoutes(services),
    ...responseRoutes(services, sendStream),
    ...sessionRoutes(services),
    ...approvalRoutes(services),
    ...ruleRoutes(services),
    ...steeringRoutes(services),
    ...queueRoutes(services),
    ...webhookRoutes(webhooks),
    ...sessionFileRoutes(services, preview),
    ...shareRoutes(services),
    ...uploadRoutes(services),
  ];
  const keys = {
    keyByHash: async (hash: string) => (hash === operatorKey?.hash ? operatorKey : store.keyByHash(hash)),
  };
  return createRouteServer(routes, { keys, clock, random, logger, settings });
}
