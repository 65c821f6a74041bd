// The only file that knows every folder: it puts the parts together, in the order in which they depend on each other.

import { assembleServices, startUpkeep } from './assemble-services.ts';
import { createHarnessTools } from './harness-tools.ts';
import { createHttpServer } from './http/server.ts';
import { createMetrics } from './http/metrics.ts';
import { createNativeAdapter } from './harnesses/native/native-adapter.ts';
import { createOwnerKey } from './auth/keys.ts';
import { createRegistry, type HarnessRegistry } from './harnesses/registry.ts';
import type { Catalogue, ProviderListing } from './engine/models/catalogue.ts';
import { createSessionFiles, type SessionFiles } from './files/session-files.ts';
import { createUploads, type Uploads } from './files/uploads.ts';
import { createWorkspaces, fixedWorkspace, type Workspaces } from './files/workspaces.ts';
import { defaultPolicies } from './engine/policies.ts';
import { ensureHarness } from './tasks/ensure-harness.ts';
import type { HarnessId } from './core/ids.ts';
import { createMemoryContent } from './runtimes/memory-content.ts';
import { createModelHealth, type ModelHealth } from './engine/model-health.ts';
import { keepHealth } from './keep-health.ts';
import { nativeTools, type NativeTools } from './native-tools.ts';
import { resolve } from 'node:path';
import { openCatalogue } from './open-catalogue.ts';
import { openShell } from './open-shell.ts';
import { openDataFolder, type DataFolder } from './data-folder.ts';
import { openPdfPreview, type PdfPreview } from './files/pdf-preview.ts';
import { openSqlite } from './stores/sqlite/open-sqlite.ts';
import { packageVersion } from './version.ts';
import { createObservers } from './runtimes/observers.ts';
import { trace } from '@opentelemetry/api';
import { watchRuns } from './runtimes/watch-runs.ts';
import { openWebhooks } from './webhooks/open-webhooks.ts';
import { superviseRuns } from './tasks/supervise-runs.ts';
import { silentLogger, type Logger } from './core/logger.ts';
import { systemClock, systemRandom } from './system.ts';
import { createLogger } from './logger.ts';
import { createRedactor } from './core/redact.ts';
import { ConfigurationError, RuntimeStateError, StorageError } from './core/errors.ts';
import type { Clock } from './core/clock.ts';
import type { RunPermissions } from './core/run-event.ts';
import type { ContentStore } from './engine/content-store.ts';
import { hostEnvironment, secretsOf, type Config } from './config.ts';
import type { McpDeps } from './engine/mcp/connect-server.ts';
import type { HarnessTools } from './harnesses/native/native-adapter.ts';
import type { HarnessAdapter, HarnessStatus } from './harnesses/harness.ts';
import type { OwnershipPolicy } from './tasks/ownership.ts';
import type { PrincipalLimitSettings } from './tasks/principal-limits.ts';
import type { Repeated } from './tasks/repeat.ts';
import type { Services } from './tasks/services.ts';
import type { Store } from './stores/store.ts';

/** The principal of the operator's key and of `reins run` (DESIGN 5). */
export const owner = 'owner';

export interface Parts {
  readonly logger?: Logger;
  readonly clock?: Clock;
  /** Harnesses beside the ones that ship with Reins. */
  readonly adapters?: readonly HarnessAdapter[];
  /** Other times than those that suit several processes on one machine. */
  readonly ownership?: Partial<OwnershipPolicy>;
}

export interface Server {
  /**
   * Takes over what an earlier process left, then answers requests. `firstKey` is made at the first start that gets this
   * far, to be shown once; null when there is a key already.
   */
  listen(): Promise<{ readonly url: string; readonly firstKey: string | null }>;
  /**
   * Takes no new work, lets tasks end for `limits.drainSeconds`, leaves the rest to another process or the next start, ends
   * streams in order (E-834). Idempotent.
   */
  close(): Promise<void>;
}

/** @throws ConfigurationError  A setting that cannot work, or a data folder that is broken. */
export async function createServer(config: Config, parts: Parts = {}): Promise<Server> {
  const { logger = loggerOf(config), clock = systemClock, adapters = [], ownership = {} } = parts;
  const { host, port, dataDir, publicUrl, apiKey } = config.server;
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(openDataFolder(dataDir));
  const store = stack.use(await folder.alone(async () => openStore(folder)));
  const catalogue = stack.use(openCatalogue(config, clock));
  warnOfDefaultModel(config, catalogue, logger);
  const { template } = config.agent;
  const workspaces = createWorkspaces({ dataDir, ...(template === null ? {} : { template }) });
  const toolParts = partsOfTools({ clock, logger, cwd: dataDir });
  const tools = stack.use(nativeTools(config, toolParts));
  let address = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const linkBase = () => publicUrl ?? address;
  const files = createSessionFiles({
    dataDir,
    workspaces,
    maxBytes: config.limits.maxArtifactBytes,
    maxFiles: config.limits.maxArtifacts,
  });
  const metrics = createMetrics();
  const harnessTools = stack.use(openHarnessTools(config, { ...toolParts, store, tools }));
  const services = createServices({
    harnessTools,
    files,
    uploads: createUploads(dataDir),
    config,
    store,
    workspaces,
    logger,
    clock,
    catalogue,
    tools,
    adapters,
    ownership,
    linkBase,
    onCommit: (tookMs) => metrics.committed(tookMs),
  });
  metrics.watch(services);
  stack.defer(() => services.log.close());
  const tracer = trace.getTracer('reins', packageVersion());
  watchRuns(services.log, ({ data }) =>
    createObservers({ hooks: [], tracer, name: data._config?.base ?? data._base ?? 'reins', clock, logger }),
  );
  await folder.alone(async () => {
    for (const base of services.harnesses.bases) await ensureHarness(services, owner, base);
  });
  const operatorKey = apiKey === null ? null : createOwnerKey(clock.now(), apiKey).record;
  const webhooks = openWebhooks(services, config.webhooks);
  const http = createHttpServer({
    services,
    operatorKey,
    webhooks,
    preview: previewOf(config, clock),
    metrics,
    settings: {
      maxBodyBytes: config.limits.maxBodyBytes,
      implementation: { name: 'reins', version: packageVersion() },
      allowedOrigins: config.server.allowedOrigins,
      ...(publicUrl === null ? {} : { publicUrl }),
    },
  });
  const rest = stack.move();
  let closing: Promise<void> | null = null;
  let upkeep: Repeated | null = null;
  return {
    async listen() {
      await superviseRuns(services);
      const url = await http.listen(host, port);
      address = url;
      folder.writeUrl(url);
      if (closing !== null) throw new RuntimeStateError('This server is closed.');
      upkeep = startUpkeep(services);
      const firstKey = apiKey === null ? await folder.alone(() => ensureKey(services, folder)) : null;
      return { url, firstKey };
    },
    close() {
      closing ??= (async () => {
        await using _rest = rest;
        // What is at work ends in front of its readers, and hears of a cancel, from elsewhere too.
        await services.runs.drain({ withinMs: config.limits.drainSeconds * 1_000 });
        await Promise.all([http.close(), upkeep?.stop(), webhooks.delivery.stop()]);
        await services.log.close();
        await services.ownership.leave();
      })();
      return closing;
    },
  };
}

/** What tools of any kind are opened with. */
function partsOfTools(own: Pick<McpDeps, 'clock' | 'logger' | 'cwd'>): McpDeps {
  return { ...own, random: systemRandom, version: packageVersion(), environment: hostEnvironment() };
}

function openHarnessTools(
  { agent, server }: Config,
  { tools, ...parts }: McpDeps & { readonly store: Store; readonly tools: NativeTools },
): HarnessTools & AsyncDisposable {
  const { network } = agent.shell;
  return createHarnessTools({
    ...parts,
    dataDir: server.dataDir,
    shell: () => tools.shell(),
    network,
    skills: agent.skills,
  });
}

function previewOf({ files }: Config, clock: Clock): PdfPreview | null {
  const { converter } = files;
  // Documents of agents are hostile: a converter reads them outside of any sandbox, so the operator has to name it (UD-57).
  if (converter === null) return null;
  return openPdfPreview({ clock, random: systemRandom, environment: hostEnvironment(), converter });
}

function loggerOf(config: Config): Logger {
  return createLogger({ level: config.server.logLevel, secrets: secretsOf(config) });
}

function openStore({ databasePath }: DataFolder): Store {
  try {
    return openSqlite(databasePath);
  } catch (cause) {
    if (!(cause instanceof StorageError)) throw cause;
    const reason = cause.cause instanceof Error ? cause.cause.message : cause.message;
    throw new ConfigurationError(`The database ${databasePath} cannot be used: ${reason.replace(/\.$/, '')}.`, {
      cause,
    });
  }
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
  const harnessTools = openHarnessTools(config, { ...toolParts, store, tools });
  const services = createServices({
    harnessTools,
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
      await harnessTools[Symbol.asyncDispose]();
      await tools[Symbol.asyncDispose]();
      await catalogue[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

export interface DoctorReport {
  readonly node: string;
  readonly dataDir: string;
  readonly providers: readonly ProviderListing[];
  /** What runs shell commands, and what it keeps them from. */
  readonly shell: string;
  readonly harnesses: readonly { readonly base: string; readonly label: string; readonly status: HarnessStatus }[];
}

/** The harnesses that a server with these settings would have, to be asked about; none of them can work. */
export function openHarnesses(
  config: Config,
): AsyncDisposable & { readonly registry: HarnessRegistry; readonly catalogue: Catalogue } {
  const parts = { clock: systemClock, logger: silentLogger };
  const catalogue = openCatalogue(config, systemClock);
  const tools = nativeTools(config, { ...parts, random: systemRandom, cwd: config.server.dataDir });
  const registry = createHarnesses(config, { ...parts, catalogue, tools, content: createMemoryContent() });
  return {
    registry,
    catalogue,
    async [Symbol.asyncDispose]() {
      await tools[Symbol.asyncDispose]();
      await catalogue[Symbol.asyncDispose]();
    },
  };
}

/** What is installed and which models answer. Calls no model, writes nothing. */
export async function inspect(config: Config): Promise<DoctorReport> {
  await using installed = openHarnesses(config);
  const { registry, catalogue } = installed;
  const { dataDir } = config.server;
  const harnesses = await Promise.all(
    registry.bases.flatMap((base) => {
      const adapter = registry.adapter(base);
      return adapter === undefined ? [] : [adapter.probe().then((status) => ({ base, label: adapter.label, status }))];
    }),
  );
  return { node: process.version, dataDir, providers: catalogue.providers(), shell: await shellOf(config), harnesses };
}

async function shellOf({ agent, server }: Config): Promise<string> {
  try {
    const parts = { clock: systemClock, random: systemRandom };
    const shell = await openShell({ ...agent.shell, hidden: [server.dataDir] }, parts);
    return shell === null ? 'off: the agent has no shell.' : shell.describe();
  } catch (cause) {
    if (cause instanceof ConfigurationError) return cause.message;
    throw cause;
  }
}

/** Its credential may come later; the server is of use until then. */
function warnOfDefaultModel({ models }: Config, catalogue: Catalogue, logger: Logger): void {
  const choice = catalogue.choose(models.default);
  if (!choice.available) logger.warn('The default model cannot be served.', { model: choice.id, why: choice.why });
}

function createHarnesses(
  config: Config,
  o: {
    readonly catalogue: Catalogue;
    readonly logger: Logger;
    readonly clock: Clock;
    readonly content: ContentStore;
    readonly tools: NativeTools;
    readonly adapters?: readonly HarnessAdapter[];
    readonly health?: ModelHealth;
    readonly harnessTools?: HarnessTools;
  },
): HarnessRegistry {
  const { catalogue, logger, clock, content, tools } = o;
  const native = createNativeAdapter(
    {
      clock,
      random: systemRandom,
      logger,
      policies: defaultPolicies,
      tools: tools.tools,
      sources: tools.sources,
      redact: createRedactor(secretsOf(config)),
      content,
      health: o.health ?? createModelHealth({ clock }),
      openModel: (ref) => catalogue.open(ref),
    },
    catalogue,
    o.harnessTools,
  );
  const adapters = [native, ...(o.adapters ?? [])];
  const { preferred } = config.harnesses;
  const bases = adapters.map(({ base }) => base);
  if (!bases.includes(preferred))
    throw new ConfigurationError(`'harnesses.preferred' names '${preferred}'; this server has: ${bases.join(', ')}.`);
  return createRegistry(adapters.toSorted((a, b) => Number(b.base === preferred) - Number(a.base === preferred)));
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
      linkBase: o.linkBase ?? (() => ''),
    },
  });
}

function principalLimitsOf({ limits }: Config): PrincipalLimitSettings {
  const { tasksPerMinute, runningTasks, tokensPerDay, dollarsPerDay, uploadBytesPerDay, principals } = limits;
  return { tasksPerMinute, runningTasks, tokensPerDay, dollarsPerDay, uploadBytesPerDay, principals };
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

/** The first start without a key of the operator's makes one (UD-70); later starts know only its hash. */
async function ensureKey({ store, clock }: Services, folder: DataFolder): Promise<string | null> {
  if ((await store.keys()).length > 0) return null;
  const { key, record } = createOwnerKey(clock.now());
  folder.writeKey(key);
  await store.putKey(record);
  return key;
}
