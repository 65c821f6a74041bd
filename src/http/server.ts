import { keysInForce } from '../auth/keys-in-force.ts';
import type { KeyRecord } from '../auth/keys.ts';
import type { Discovery } from '../protocol/uhp/discovery.ts';
import type { PdfPreview } from '../files/pdf-preview.ts';
import type { Services } from '../tasks/services.ts';
import { createRouteServer, type HttpServer, type RouteServerOptions } from './route-server.ts';
import { appendAudit, type AuditFact } from '../tasks/append-audit.ts';
import { agentRoutes } from './routes/agent.ts';
import { approvalRoutes } from './routes/approvals.ts';
import { auditRoutes } from './routes/audit.ts';
import { chatRoutes } from './routes/chat.ts';
import { consoleRoutes, type ConsoleParts } from './routes/console.ts';
import { createConsoleCookie } from './console-cookie.ts';
import { discoveryRoutes } from './routes/discovery.ts';
import { harnessBundleRoutes } from './routes/harness-bundles.ts';
import { harnessFeedRoutes } from './routes/harness-feed.ts';
import { harnessRoutes } from './routes/harnesses.ts';
import { healthRoutes } from './routes/health.ts';
import { keyRoutes } from './routes/keys.ts';
import { openApiRoutes } from './routes/openapi.ts';
import type { Metrics } from './metrics.ts';
import { modelRoutes } from './routes/models.ts';
import { pausingRoutes } from './routes/pausing.ts';
import { queueRoutes } from './routes/queue.ts';
import { responseRoutes } from './routes/responses.ts';
import { ruleRoutes } from './routes/rules.ts';
import { sessionFileRoutes } from './routes/session-files.ts';
import { shareRoutes } from './routes/shares.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { steeringRoutes } from './routes/steering.ts';
import { uploadRoutes } from './routes/uploads.ts';
import { usageRoutes } from './routes/usage.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import type { Webhooks } from '../webhooks/manage-webhooks.ts';
import { createSendStream } from './send-stream.ts';
import type { Route } from './route.ts';

export interface HttpServerOptions {
  readonly services: Services;
  /** The key that the operator set for this process; it lives no longer than the setting, so it is not in the store. */
  readonly operatorKey: KeyRecord | null;
  readonly webhooks: Webhooks;
  /** Absent: documents are not shown as PDF. */
  readonly preview?: PdfPreview | null;
  /** Absent: there are no figures. */
  readonly metrics?: Metrics | null;
  /** Absent: there is no console page, and no cookie is a credential. */
  readonly console?: ConsoleParts | null;
  readonly settings: RouteServerOptions['settings'] & {
    readonly implementation: Discovery['implementation'];
    /** Absent: `/api/chat`. */
    readonly chatPath?: string;
  };
}

/** The whole HTTP face of Reins. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { services, operatorKey, settings, console: page = null } = options;
  const { store, clock, random, logger } = services;
  const cookie = page === null ? {} : { byCookie: createConsoleCookie(page.sessions, settings.publicUrl).callerOf };
  const keys = { ...keysInForce(store, operatorKey), ...cookie };
  const audit = (fact: AuditFact) => appendAudit(services, fact);
  const isLeaving = () => services.runs.isLeaving;
  return createRouteServer(routesOf(options), { keys, clock, random, logger, isLeaving, audit, settings });
}

/** Every route of the protocol that this server has. */
export function routesOf({
  services,
  webhooks,
  preview = null,
  metrics = null,
  console: page = null,
  settings,
}: Omit<HttpServerOptions, 'operatorKey'>): readonly Route[] {
  const sendStream = createSendStream({ clock: services.clock, logger: services.logger, metrics });
  const routes = [
    ...healthRoutes(services, metrics),
    ...discoveryRoutes(settings.implementation),
    ...harnessRoutes(services),
    ...harnessBundleRoutes(services),
    ...harnessFeedRoutes(services, sendStream),
    ...modelRoutes(services),
    ...responseRoutes(services, sendStream),
    ...agentRoutes(services, sendStream),
    ...chatRoutes(services, sendStream, settings.chatPath),
    ...sessionRoutes(services),
    ...approvalRoutes(services),
    ...ruleRoutes(services),
    ...steeringRoutes(services),
    ...pausingRoutes(services),
    ...queueRoutes(services),
    ...webhookRoutes(webhooks),
    ...sessionFileRoutes(services, preview),
    ...shareRoutes(services),
    ...uploadRoutes(services),
    ...keyRoutes(services),
    ...auditRoutes(services),
    ...usageRoutes(services),
    ...(page === null ? [] : consoleRoutes(services, { ...page, publicUrl: settings.publicUrl })),
  ];
  return [...routes, ...openApiRoutes(routes, settings.implementation)];
}
