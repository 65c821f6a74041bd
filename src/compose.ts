// The only file that knows every folder: it puts the parts together, in the order in which they depend on each other.

import { assembleServices } from './assemble-services.ts';
import { createHarnessTools, type HarnessToolsOptions } from './harness-tools.ts';
import { createRuntimeExtras } from './runtime-extras.ts';
import { openAgentTurns, workspaceRoot } from './open-agent-turns.ts';
import { openForeign, type RuntimeMaker } from './open-foreign.ts';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createHttpServer, type HttpServerOptions } from './http/server.ts';
import type { HttpServer } from './http/route-server.ts';
import { readTls, type TlsMaterial } from './http/read-tls.ts';
import { createMetrics } from './http/metrics.ts';
import { createOwnerKey } from './auth/keys.ts';
import type { HarnessRegistry } from './harnesses/registry.ts';
import type { Catalogue } from './engine/models/catalogue.ts';
import { createSessionFiles, type SessionFiles } from './files/session-files.ts';
import { createUploads, type Uploads } from './files/uploads.ts';
import { createWorkspaces, fixedWorkspace, type Workspaces } from './files/workspaces.ts';
import { createHarnesses } from './open-harnesses.ts';
import { createLifecycle } from './server-lifecycle.ts';
import { ensureHarness, ensureHarnesses } from './tasks/ensure-harness.ts';
import type { HarnessId } from './core/ids.ts';
import { createModelHealth } from './engine/model-health.ts';
import { keepHealth } from './keep-health.ts';
import { nativeTools, type NativeTools } from './native-tools.ts';
import { join, resolve } from 'node:path';
import { lookAtSettings } from './look-at-settings.ts';
import { openCatalogue } from './open-catalogue.ts';
import { openConsole } from './open-console.ts';
import { openDataFolder } from './data-folder.ts';
import { openBlobs } from './open-blobs.ts';
import { openScheduler } from './open-scheduler.ts';
import { openStore } from './open-store.ts';
import { openPdfPreview, type PdfPreview } from './files/pdf-preview.ts';
import { openSqlite } from './stores/sqlite/open-sqlite.ts';
import { packageVersion } from './version.ts';
import { createObservers } from './runtimes/observers.ts';
import { trace } from '@opentelemetry/api';
import { watchRuns, type RunWatch } from './runtimes/watch-runs.ts';
import { openWebhooks } from './webhooks/open-webhooks.ts';
import { silentLogger, type Logger } from './core/logger.ts';
import { sandboxedConverter } from './sandboxed-converter.ts';
import { systemClock, systemRandom } from './system.ts';
import { createLogger } from './logger.ts';
import { ConfigurationError } from './core/errors.ts';
import type { Clock } from './core/clock.ts';
import type { RunPermissions } from './core/run-config.ts';
import { hostEnvironment, secretsOf, type Config } from './config.ts';
import type { McpDeps } from './engine/mcp/connect-server.ts';
import type { HarnessTools } from './harnesses/native/native-adapter.ts';
import type { HarnessAdapter } from './harnesses/harness.ts';
import type { OwnershipPolicy } from './tasks/ownership.ts';
import type { PrincipalLimitSettings } from './tasks/principal-limits.ts';
import type { RunScheduler } from './tasks/run-scheduler.ts';
import type { AgentTurns, Services } from './tasks/services.ts';
import type { Server } from './server.ts';
import type { Store } from './stores/store.ts';

/** The principal of the operator's key and of `reins run`. */
export const owner = 'owner';

export interface Parts {
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Harnesses beside the ones that ship with Reins. */
  readonly adapters?: readonly HarnessAdapter[];
  /** Foreign runtimes beside them, as `fromHarnessV1` makes them. */
  readonly runtimes?: readonly RuntimeMaker[];
  /** Other times than those that suit several processes on one machine. */
  readonly ownership?: Partial<OwnershipPolicy>;
}

/** @throws ConfigurationError  A setting that cannot work, or a data folder that is broken. */
export async function createServer(config: Config, parts: Parts = {}): Promise<Server> {
  const { logger = loggerOf(config), clock = systemClock, adapters = [], ownership = {}, runtimes = [] } = parts;
  const { host, port, dataDir, publicUrl, apiKey } = config.server;
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(openDataFolder(dataDir, config.store.databaseUrl === null ? 'sqlite' : 'postgresql'));
  const { store, alone } = await openStore(config, folder, logger);
  stack.use(store);
  const catalogue = stack.use(openCatalogue(config, clock));
  tellOfSettings(config, catalogue, logger);
  const { template } = config.agent;
  const workspaces = createWorkspaces({ dataDir, ...(template === null ? {} : { template }) });
  const toolParts = partsOfTools({ clock, logger, cwd: dataDir });
  const tools = stack.use(nativeTools(config, toolParts));
  const tls = config.server.tls === null ? null : readTls(config.server.tls, clock.now());
  let address = `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const linkBase = () => publicUrl ?? address;
  const blobs = stack.use(await openBlobs(config, { clock, random: systemRandom }));
  const files = createSessionFiles({
    dataDir,
    workspaces,
    blobs,
    maxBytes: config.limits.maxArtifactBytes,
    maxFiles: config.limits.maxArtifacts,
  });
  const metrics = createMetrics(packageVersion());
  const extensions = optionsOfTools(config, { ...toolParts, store, tools });
  const harnessTools = stack.use(createHarnessTools(extensions));
  const extras = createRuntimeExtras(extensions, config.agent.mcp);
  const foreign = stack.use(
    openForeign(config, {
      clock,
      logger,
      catalogue,
      extras,
      root: join(dataDir, 'homes'),
      runtimes,
      onModelCall: (call) => metrics.relayed(call),
    }),
  );
  const temporal = await openScheduler(config, () => services);
  stack.defer(() => temporal?.close());
  const services: Services = createServices({
    ...(temporal === null ? {} : { scheduler: temporal.scheduler }),
    harnessTools,
    files,
    uploads: createUploads(dataDir, blobs),
    config,
    store,
    workspaces,
    logger,
    clock,
    catalogue,
    tools,
    adapters: [...foreign.adapters, ...adapters],
    ownership,
    linkBase,
    onCommit: (tookMs) => metrics.committed(tookMs),
    agentTurns: openAgentTurns(config, logger),
  });
  metrics.watch(services);
  stack.defer(() => services.log.close());
  const watch = traceRuns(services);
  await ensureHarnesses(services, owner, alone);
  await warnOfPreferred(services);
  const webhooks = openWebhooks(services, config.webhooks);
  const operatorKey = apiKey === null ? null : createOwnerKey(clock.now(), apiKey).record;
  const page = openConsole({ store, operatorKey, owner, clock });
  const http = openHttp(config, { services, webhooks, metrics, tls, tools, operatorKey, console: page.parts });
  return createLifecycle({
    config,
    services,
    folder,
    alone,
    homes: foreign.homes,
    http,
    console: page,
    webhooks,
    temporal,
    watch,
    onListening: (url) => (address = url),
    rest: stack.move(),
  });
}

function traceRuns({ log, clock, logger, scheduler }: Services): RunWatch {
  const tracer = trace.getTracer('reins', packageVersion());
  return watchRuns(log, {
    observe: ({ data }) =>
      createObservers({ hooks: [], tracer, name: data._config?.base ?? data._base ?? 'reins', clock, logger }),
    isJoined: ({ data }) => scheduler?.takes(data._config ?? null) ?? false,
  });
}

function openHttp(
  config: Config,
  {
    tls,
    tools,
    ...parts
  }: Pick<HttpServerOptions, 'services' | 'webhooks' | 'metrics' | 'operatorKey' | 'console'> & {
    readonly tls: TlsMaterial | null;
    readonly tools: NativeTools;
  },
): HttpServer {
  const { publicUrl, allowedOrigins, chatPath } = config.server;
  const { clock } = parts.services;
  return createHttpServer({
    ...parts,
    preview: previewOf(config, clock, tools),
    settings: {
      maxBodyBytes: config.limits.maxBodyBytes,
      implementation: { name: 'reins', version: packageVersion() },
      allowedOrigins,
      chatPath,
      tls,
      ...(publicUrl === null ? {} : { publicUrl }),
    },
  });
}

/** What tools of any kind are opened with. */
function partsOfTools(own: Pick<McpDeps, 'clock' | 'logger' | 'cwd'>): McpDeps {
  return { ...own, random: systemRandom, version: packageVersion(), environment: hostEnvironment() };
}

function optionsOfTools(
  { agent, server }: Config,
  { tools, ...parts }: McpDeps & { readonly store: Store; readonly tools: NativeTools },
): HarnessToolsOptions {
  const { network } = agent.shell;
  return {
    ...parts,
    dataDir: server.dataDir,
    hidden: [workspaceRoot({ agent, server })],
    shell: () => tools.shell(),
    network,
    reach: { allowHosts: agent.fetchHosts },
    skills: agent.skills,
  };
}

async function warnOfPreferred({ harnesses, logger }: Services): Promise<void> {
  const [harness = ''] = harnesses.bases;
  const status = await harnesses.adapter(harness)?.probe();
  if (status?.installed !== false) return;
  const why = status.problem?.message ?? '';
  logger.warn('The preferred harness cannot work here; tasks that name no other are refused.', { harness, why });
}

function previewOf({ files, server }: Config, clock: Clock, tools: NativeTools): PdfPreview | null {
  const { converter } = files;
  // Documents of agents are hostile, and not every machine has a sandbox for what reads them: the operator decides (UD-57).
  if (converter === null) return null;
  const environment = hostEnvironment();
  const confine = sandboxedConverter({ dataDir: server.dataDir, environment, shell: () => tools.shell() });
  return openPdfPreview({ clock, random: systemRandom, environment, converter, confine });
}

function loggerOf(config: Config): Logger {
  return createLogger({ level: config.server.logLevel, secrets: secretsOf(config) });
}

/** The parts of a process without a server: a log in memory, and the caller's folder as every session's workspace. */
export interface Local extends AsyncDisposable {
  readonly services: Services;
  /** The configured harness of the base that was asked for. */
  harness(): Promise<HarnessId>;
}

export interface LocalOptions {
  readonly cwd: string;
  /** A harness base; absent: the preferred one. */
  readonly base?: string;
  readonly logger?: Logger;
}

/** @throws ConfigurationError  `cwd` is no folder, `base` no harness, or a setting cannot work. */
export function composeLocal(config: Config, { cwd, base, logger = silentLogger }: LocalOptions): Local {
  const workspaces = fixedWorkspace(cwd);
  const catalogue = openCatalogue(config, systemClock);
  const store = openSqlite(':memory:');
  const toolParts = partsOfTools({ clock: systemClock, logger, cwd: resolve(cwd) });
  const tools = nativeTools(config, toolParts);
  const extensions = optionsOfTools(config, { ...toolParts, store, tools });
  const harnessTools = createHarnessTools(extensions);
  const homes = mkdtempSync(join(tmpdir(), 'reins-homes-'));
  const extras = createRuntimeExtras(extensions, config.agent.mcp);
  const foreign = openForeign(config, { clock: systemClock, logger, catalogue, extras, root: homes });
  const services = createServices({
    harnessTools,
    adapters: foreign.adapters,
    config,
    store,
    catalogue,
    tools,
    workspaces,
    logger,
    clock: systemClock,
  });
  const chosen = base ?? config.harnesses.preferred;
  requireAdapter(services.harnesses, chosen);
  return {
    services,
    harness: () => ensureHarness(services, owner, chosen),
    async [Symbol.asyncDispose]() {
      await services.runs.drain({ how: 'cancel' });
      await services.log.close();
      await foreign[Symbol.asyncDispose]();
      await rm(homes, { recursive: true, force: true });
      await harnessTools[Symbol.asyncDispose]();
      await tools[Symbol.asyncDispose]();
      await catalogue[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** @throws ConfigurationError  Without the template no session could begin. */
function tellOfSettings(config: Config, catalogue: Catalogue, logger: Logger): void {
  for (const { what, state, message } of lookAtSettings(config, catalogue)) {
    if (what === 'agent.template') throw new ConfigurationError(`'${what}' is wrong: ${message}`);
    if (state !== 'well') logger.warn('A setting cannot be used as it is.', { setting: what, why: message });
  }
  // Its credential may come later; the server is of use until then.
  const choice = catalogue.choose(config.models.default);
  if (!choice.available) logger.warn('The default model cannot be served.', { model: choice.id, why: choice.why });
}

function createServices(o: {
  readonly config: Config;
  readonly store: Store;
  readonly workspaces: Workspaces;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly catalogue: Catalogue;
  readonly tools: NativeTools;
  readonly adapters?: readonly HarnessAdapter[];
  readonly ownership?: Partial<OwnershipPolicy>;
  readonly linkBase?: () => string;
  readonly files?: SessionFiles;
  readonly uploads?: Uploads;
  readonly harnessTools?: HarnessTools;
  readonly onCommit?: (tookMs: number) => void;
  readonly agentTurns?: AgentTurns;
  readonly scheduler?: RunScheduler;
}): Services {
  const { config, store, workspaces, logger, clock, ownership: policy = {} } = o;
  const { limits, retention, agent } = config;
  const health = createModelHealth({ clock });
  keepHealth(health, { store, logger });
  return assembleServices({
    store,
    clock,
    logger,
    workspaces,
    files: o.files ?? null,
    uploads: o.uploads ?? null,
    ...(o.agentTurns === undefined ? {} : { agentTurns: o.agentTurns }),
    ...(o.scheduler === undefined ? {} : { scheduler: o.scheduler }),
    policy,
    onCommit: o.onCommit,
    slots: { concurrent: limits.concurrentTasks, queued: limits.queuedTasks },
    harnesses: createHarnesses(config, { ...o, health, content: store }),
    settings: {
      timeoutSeconds: limits.timeoutSeconds,
      maxTimeoutSeconds: limits.maxTimeoutSeconds,
      systemPrompt: agent.systemPrompt,
      planning: agent.planning,
      permissions: permissionsOf(config),
      streamRetentionSeconds: retention.streamSeconds,
      sessionRetentionSeconds: retention.sessionSeconds,
      maxUploadBytes: limits.maxUploadBytes,
      uploadRetentionSeconds: retention.uploadSeconds,
      auditRetentionSeconds: retention.auditSeconds,
      principalLimits: principalLimitsOf(config),
      templates: agent.templates,
      allowHosts: agent.fetchHosts,
      pricesOf: (model) => o.catalogue.pricesOf(o.catalogue.nativeName(model)),
      linkBase: o.linkBase ?? (() => ''),
    },
  });
}

function principalLimitsOf({ limits }: Config): PrincipalLimitSettings {
  const { tasksPerMinute, runningTasks, tokensPerDay, dollarsPerDay, uploadBytesPerDay, models, principals } = limits;
  return { tasksPerMinute, runningTasks, tokensPerDay, dollarsPerDay, uploadBytesPerDay, models, principals };
}

function permissionsOf({ approvals }: Config): RunPermissions {
  const { permissionMode: mode, toolPermissions: tools, ...rest } = approvals;
  return { mode, tools, ...rest };
}

function requireAdapter(harnesses: HarnessRegistry, base: string): HarnessAdapter {
  const adapter = harnesses.adapter(base);
  if (adapter !== undefined) return adapter;
  throw new ConfigurationError(`There is no harness '${base}'; there is: ${harnesses.bases.join(', ')}.`);
}
