// The settings of one process, and the only file that reads the environment (E-005).
//
// C1. Order: command line, environment, one JSON file, defaults. A later source fills only what an earlier one left out.
// C2. Every source is checked whole, also where another one wins: an unknown or wrong key stops the start and is named.
// C3. Credentials come from the environment alone, and no error text repeats a value.
// C4. Beyond loopback there is no start without a key that the operator has set (UD-70).

import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from './core/errors.ts';
import { deepFreeze } from './core/deep-freeze.ts';
import { logLevels } from './core/logger.ts';
import { environmentPrefix, providerNames } from './core/provider-names.ts';
import type { ProviderName, ProviderSettings } from './core/provider-names.ts';

const text = z.string().min(1);
const webAddress = z.url({ protocol: /^https?$/ });
const count = z.int().min(1);
const portRange = 'a port is a whole number from 0 to 65535';

const catalogueEntry = z.strictObject({
  id: text,
  label: text.optional(),
  /** The name by which each provider serves it. */
  providers: z.partialRecord(z.enum(providerNames), text),
  contextTokens: count.optional(),
  maxOutputTokens: count.optional(),
});

const mcpServer = z.intersection(
  z.object({
    name: text,
    disabled: z.boolean().exactOptional(),
    permission: z.enum(['allow', 'ask', 'deny']).exactOptional(),
    replay: z.enum(['manual', 'safe', 'idempotent']).exactOptional(),
    timeoutSeconds: z.number().positive().exactOptional(),
    /** Only these of its tools. */
    tools: z.array(text).exactOptional(),
  }),
  z.discriminatedUnion('transport', [
    z.object({
      transport: z.literal('stdio'),
      command: text,
      args: z.array(z.string()).exactOptional(),
      env: z.record(z.string(), z.string()).exactOptional(),
      cwd: text.exactOptional(),
    }),
    z.object({
      transport: z.enum(['http', 'sse']),
      url: webAddress,
      headers: z.record(z.string(), z.string()).exactOptional(),
    }),
  ]),
);

/** Harnesses that are programs of others. */
const programBases = ['claude-code', 'codex', 'pi', 'gemini-cli', 'opencode'] as const;

/** Null = no limit (UR-53). */
const ofPrincipal = {
  tasksPerMinute: z.int().min(0).nullable(),
  runningTasks: z.int().min(0).nullable(),
  tokensPerDay: z.int().min(0).nullable(),
  dollarsPerDay: z.number().min(0).nullable(),
  uploadBytesPerDay: z.int().min(0).nullable(),
};
const limitsOfOne = z.strictObject({
  tasksPerMinute: ofPrincipal.tasksPerMinute.exactOptional(),
  runningTasks: ofPrincipal.runningTasks.exactOptional(),
  tokensPerDay: ofPrincipal.tokensPerDay.exactOptional(),
  dollarsPerDay: ofPrincipal.dollarsPerDay.exactOptional(),
  uploadBytesPerDay: ofPrincipal.uploadBytesPerDay.exactOptional(),
});

const groups = {
  server: z.strictObject({
    host: text.default('127.0.0.1'),
    /** 0: any free port. */
    port: z.int(portRange).min(0, portRange).max(65_535, portRange).default(4242),
    /** Base of the links in answers; null = the bind address. */
    publicUrl: webAddress
      .transform((url) => url.replace(/\/+$/, ''))
      .nullable()
      .default(null),
    /** PEM files; set: this server speaks TLS itself. */
    tls: z.strictObject({ certFile: text, keyFile: text }).nullable().default(null),
    dataDir: text.default('~/.reins'),
    /** Web pages of these may read answers in a browser. */
    allowedOrigins: z
      .array(webAddress.refine((url) => URL.parse(url)?.origin === url, 'an origin is as https://app.example'))
      .default([]),
    /** The least serious log entries that are written, to stderr. */
    logLevel: z.enum(logLevels).default('info'),
  }),
  models: z.strictObject({
    /** Providers that may serve, tried in this order; one that is not named is not used. */
    providers: z.array(z.enum(providerNames)).default([...providerNames]),
    default: text.nullable().default(null),
    /** Extends and overrides the catalogue that ships with Reins. */
    catalogue: z.array(catalogueEntry).default([]),
  }),
  agent: z.strictObject({
    /** Folder whose copy a new session starts with (UD-88). */
    template: text.nullable().default(null),
    /** Folders that harnesses may name as their own template. */
    templates: z.array(text).default([]),
    systemPrompt: text.nullable().default(null),
    /** Whether the agent keeps a task list where a harness does not say. */
    planning: z.boolean().default(true),
    shell: z
      .strictObject({
        /** `auto`: a sandbox where there is one, else an interpreted shell; the host's own only when it is named. */
        kind: z.enum(['auto', 'sandboxed', 'interpreted', 'host', 'off']).default('auto'),
        network: z.enum(['none', 'full']).default('full'),
      })
      .prefault({}),
    /** Hosts that `fetch_url` and MCP servers of harnesses may reach though they are not public; `*.suffix` names all below it. */
    fetchHosts: z.array(text).default([]),
    /** MCP servers whose tools the agent has; allowed by being named here unless they say otherwise (UR-02). */
    mcp: z.array(mcpServer).default([]),
    /** Folders that are skills, or hold some (E-904). */
    skills: z.array(text).default([]),
    /** Of `POST /api/agent`: holds a folder for each principal; null = one in the data folder. */
    workspace: text.nullable().default(null),
    /** Principals that have none; `*` names all. */
    workspaceOff: z.array(text).default([]),
    /** Directory of a turn that names none. One that cannot be is ignored with a warning, as is the effort below. */
    defaultCwd: z.string().nullable().default(null),
    /** How much models are asked to think; null = those whose name says that they do. */
    reasoning: z.string().nullable().default(null),
  }),
  harnesses: z.strictObject({
    preferred: text.default('native'),
    /** Absolute paths of programs, by base; absent: as found on the path. */
    programs: z.partialRecord(z.enum(programBases), text).default({}),
    /** Agents that speak the Agent Client Protocol, by the name that makes their base `acp-<name>`. */
    acp: z
      .record(
        z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'a name is in kebab-case'),
        z.strictObject({
          command: text,
          args: z.array(z.string()).default([]),
          env: z.record(z.string(), z.string()).default({}),
          label: text.optional(),
          /** Provider whose models it calls, and the variables through which it is told where and with which key. */
          provider: z.enum(providerNames),
          baseUrlVariable: text,
          keyVariable: text,
        }),
      )
      .default({}),
    /** How long the process of a session is kept between its turns, and while a person is waited for. */
    idleSeconds: count.default(300),
    parkSeconds: count.default(1_800),
    /** How many such processes there are at most while nothing is asked of them. */
    mostIdle: z.int().min(0).default(8),
    /** Longest silences before a program counts as stuck. */
    silence: z
      .strictObject({
        firstSeconds: count.default(30),
        modelSeconds: count.default(180),
        toolSeconds: count.default(1_800),
      })
      .prefault({}),
  }),
  approvals: z.strictObject({
    /** How long a task waits for a person, where its harness does not say. */
    expiresAfterSeconds: count.default(604_800),
    /** What becomes of a call that nobody decided on in time. */
    onExpiry: z.enum(['deny', 'cancel-run']).default('deny'),
    /** What a tool may do without being asked, where a harness does not say: so for the rest of this group (UR-02). */
    permissionMode: z.enum(['allow-all', 'allow-edits', 'allow-reads']).default('allow-all'),
    /** By tool name. */
    toolPermissions: z.record(z.string(), z.enum(['allow', 'ask', 'deny'])).default({}),
    /** Whether the agent may ask its user. */
    questions: z.boolean().default(false),
    /** What becomes of a command that a crash cut off. */
    onUnknown: z.enum(['tell-model', 'park']).default('tell-model'),
  }),
  limits: z.strictObject({
    /** Largest JSON body (UD-63). */
    maxBodyBytes: count.default(32 * 1024 * 1024),
    /** Largest upload (UD-63). */
    maxUploadBytes: count.default(100 * 1024 * 1024),
    /** What all artifacts of a session may take, and how many there may be (U-423). */
    maxArtifactBytes: count.default(1024 * 1024 * 1024),
    maxArtifacts: count.default(10_000),
    /** For a task that names none (UD-09). */
    timeoutSeconds: count.default(3600),
    /** The most that a task may ask for. */
    maxTimeoutSeconds: count.default(86_400),
    /** How long a server that is stopped lets its tasks end, before it leaves them to another (E-834). */
    drainSeconds: z.int().min(0).default(10),
    /** Tasks at work at one time, over all principals; null = no bound. How many may wait for that beyond them (UD-59). */
    concurrentTasks: count.nullable().default(5_000),
    queuedTasks: z.int().min(0).default(1_000),
    /** What each principal may use. */
    tasksPerMinute: ofPrincipal.tasksPerMinute.default(null),
    runningTasks: ofPrincipal.runningTasks.default(null),
    tokensPerDay: ofPrincipal.tokensPerDay.default(null),
    dollarsPerDay: ofPrincipal.dollarsPerDay.default(null),
    uploadBytesPerDay: ofPrincipal.uploadBytesPerDay.default(null),
    /** What is different for some of them, by name. */
    principals: z.record(text, limitsOfOne).default({}),
  }),
  retention: z.strictObject({
    /** Replay of streams and idempotency keys, from the end of the task (UD-14, UD-62). */
    streamSeconds: count.default(86_400),
    /** Uploads, from when they were made. */
    uploadSeconds: count.default(2_592_000),
    /** The audit log (UR-54). */
    auditSeconds: count.default(31_536_000),
    /** Idle time after which a session expires; null = never. */
    sessionSeconds: count.nullable().default(null),
  }),
  files: z.strictObject({
    /** Name or path of the LibreOffice that makes previews (U-407); null = as found on the path. */
    converter: text.nullable().default(null),
  }),
  webhooks: z.strictObject({
    /** Whether webhooks may be sent to this very machine over http, for development (UR-52). */
    allowLoopback: z.boolean().default(false),
  }),
  demo: z.strictObject({ speed: z.enum(['human', 'full']).default('human') }),
};

const settings = z.strictObject({
  server: groups.server.prefault({}),
  models: groups.models.prefault({}),
  agent: groups.agent.prefault({}),
  harnesses: groups.harnesses.prefault({}),
  approvals: groups.approvals.prefault({}),
  limits: groups.limits.prefault({}),
  retention: groups.retention.prefault({}),
  files: groups.files.prefault({}),
  webhooks: groups.webhooks.prefault({}),
  demo: groups.demo.prefault({}),
});
type Settings = z.infer<typeof settings>;

export interface Config extends Readonly<Omit<Settings, 'server' | 'models'>> {
  readonly server: Readonly<Settings['server']> & {
    /** `REINS_API_KEY`; null = the server makes one at its first start. */
    readonly apiKey: string | null;
  };
  readonly models: Readonly<Settings['models']> & {
    /** Providers for which anything is set. */
    readonly credentials: Readonly<Partial<Record<ProviderName, ProviderSettings>>>;
  };
}

/** What the command line may set; absent = not given. */
export interface ConfigFlags {
  readonly host?: string | undefined;
  readonly port?: string | undefined;
  readonly data?: string | undefined;
  readonly config?: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ConfigSources {
  readonly flags?: ConfigFlags;
  readonly env?: Environment;
  /** The text of a file, or null when there is none. */
  readonly readFile?: (path: string) => string | null;
}

/**
 * The settings that hold, deeply frozen. Paths are absolute: relative ones of the file count from the file's folder.
 * @throws ConfigurationError  Names the key, where it was set, and what is right there.
 */
export function loadConfig({ flags = {}, env = process.env, readFile = readIfThere }: ConfigSources = {}): Config {
  const given = givenVariables(env);
  const explicit = flags.config ?? given['REINS_CONFIG'];
  const dataDir = flags.data ?? given['REINS_DATA_DIR'];
  const path = toPath(explicit ?? join(dataDir ?? '~/.reins', 'config.json'));
  const file = readLayer(path, readFile, explicit !== undefined);
  if (explicit === undefined && 'dataDir' in (file['server'] ?? {}))
    throw new ConfigurationError(
      `'server.dataDir' in ${path}: this file lies in the data folder, so it cannot move it; use --data or REINS_DATA_DIR.`,
    );

  const layers = [file, layerOf(given, variables), layerOf({ ...flags }, options)];
  const merged = settings.parse(Object.fromEntries(groupNames.map((name) => [name, mergeGroup(layers, name)])));
  const config: Config = {
    ...merged,
    server: { ...merged.server, dataDir: toPath(merged.server.dataDir), apiKey: apiKeyFrom(given) },
    models: { ...merged.models, credentials: credentialsFrom(given) },
  };
  refuseUnguardedBind(config);
  refuseTimeoutAboveMaximum(config);
  return deepFreeze(config);
}

/** What one source sets, by group and key. */
type Layer = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
type GivenVariables = Readonly<Record<string, string>>;
const groupNames = settings.keyof().options;
const layerShape = z.record(z.string(), z.record(z.string(), z.unknown()));

/** Where a variable or an option lands: group and key. */
const variables: Readonly<Record<string, readonly [string, string]>> = {
  REINS_HOST: ['server', 'host'],
  REINS_PORT: ['server', 'port'],
  REINS_DATA_DIR: ['server', 'dataDir'],
  REINS_PUBLIC_URL: ['server', 'publicUrl'],
  REINS_DEMO_SPEED: ['demo', 'speed'],
  REINS_LOG_LEVEL: ['server', 'logLevel'],
  SANDBOX_DEFAULT_CWD: ['agent', 'defaultCwd'],
  AGENT_REASONING: ['agent', 'reasoning'],
};
const options: typeof variables = {
  host: ['server', 'host'],
  port: ['server', 'port'],
  data: ['server', 'dataDir'],
};

/** An empty variable counts as absent; white space around one is never meant (a key pasted with its line end). */
function givenVariables(env: Environment): GivenVariables {
  const trimmed = Object.entries(env).map(([name, value]) => [name, value?.trim() ?? ''] as const);
  return Object.fromEntries(trimmed.filter(([, value]) => value !== ''));
}

function layerOf(values: Readonly<Record<string, string | undefined>>, table: typeof variables): Layer {
  const layer: Record<string, Record<string, unknown>> = {};
  for (const [name, [group, key]] of Object.entries(table)) {
    const value = values[name];
    if (value === undefined) continue;
    const own = { [group]: { [key]: /^\d+$/.test(value) && key === 'port' ? Number(value) : value } };
    check(own, () => (table === options ? `--${name}` : name));
    layer[group] = { ...layer[group], ...own[group] };
  }
  return layer;
}

function readLayer(path: string, readFile: (path: string) => string | null, required: boolean): Layer {
  const source = readFile(path);
  if (source === null && required)
    throw new ConfigurationError(
      `The settings file ${path} is not there; make it or leave --config and REINS_CONFIG out.`,
    );
  const value = source === null ? {} : parseJson(source, path);
  check(value, (key) => (key === null ? path : `'${key}' in ${path}`));
  return withPaths(layerShape.parse(value), dirname(path));
}

function withPaths(layer: Layer, folder: string): Layer {
  const absolute = (group: string, key: string) => {
    const path = layer[group]?.[key];
    return typeof path === 'string' ? { [key]: toPath(path, folder) } : {};
  };
  const programs = layer['harnesses']?.['programs'];
  const skills = layer['agent']?.['skills'];
  const agent = {
    ...layer['agent'],
    ...absolute('agent', 'template'),
    ...absolute('agent', 'workspace'),
  };
  const templates = layer['agent']?.['templates'];
  const pathsOf = (paths: unknown[]) => paths.map((path) => toPath(String(path), folder));
  const folders = {
    ...(Array.isArray(skills) ? { skills: pathsOf(skills) } : {}),
    ...(Array.isArray(templates) ? { templates: pathsOf(templates) } : {}),
  };
  const tls = layer['server']?.['tls'];
  const server = { ...layer['server'], ...absolute('server', 'dataDir'), ...withFolder('tls', tls, folder) };
  return {
    ...layer,
    ...(layer['server'] === undefined ? {} : { server }),
    ...(layer['agent'] === undefined ? {} : { agent: { ...agent, ...folders } }),
    ...(layer['harnesses'] === undefined
      ? {}
      : { harnesses: { ...layer['harnesses'], ...withFolder('programs', programs, folder) } }),
  };
}

/** An object of paths. */
function withFolder(key: string, paths: unknown, folder: string) {
  if (typeof paths !== 'object' || paths === null) return {};
  return {
    [key]: Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, toPath(String(path), folder)])),
  };
}

function parseJson(source: string, path: string): unknown {
  try {
    return JSON.parse(source.replace(/^\uFEFF/, ''));
  } catch {
    // The parser's own message repeats a piece of the file (C3).
    throw new ConfigurationError(`The settings file ${path} is not valid JSON.`);
  }
}

function check(layer: unknown, nameOf: (key: string | null) => string): void {
  const issue = settings.safeParse(layer).error?.issues[0];
  if (issue === undefined) return;
  if (issue.code !== 'unrecognized_keys')
    throw new ConfigurationError(
      `${nameOf(issue.path.length === 0 ? null : issue.path.join('.'))} is wrong: ${issue.message.replace('Invalid input: ', '')}.`,
    );
  const unknown = [...issue.path, issue.keys[0] ?? ''].join('.');
  const known = issue.path.length === 0 ? groupNames : keysOf(issue.path);
  const help = known.length === 0 ? 'remove it' : `known ones here are ${known.join(', ')}`;
  throw new ConfigurationError(`${nameOf(unknown)} is no setting: ${help}.`);
}

function keysOf(path: readonly PropertyKey[]): readonly string[] {
  const group = groupNames.find((name) => path.length === 1 && name === path[0]);
  if (group !== undefined) return Object.keys(groups[group].shape);
  if (path[1] === 'principals' && path.length === 3) return Object.keys(limitsOfOne.shape);
  return path[1] === 'catalogue' && path.length === 3 ? Object.keys(catalogueEntry.shape) : [];
}

function mergeGroup(layers: readonly Layer[], name: string): Record<string, unknown> {
  return Object.assign({}, ...layers.map((layer) => layer[name]));
}

function credentialsFrom(given: GivenVariables): Partial<Record<ProviderName, ProviderSettings>> {
  const credentials: Partial<Record<ProviderName, ProviderSettings>> = {};
  for (const name of providerNames) {
    const apiKey = given[`${environmentPrefix[name]}_API_KEY`];
    const baseURL = given[`${environmentPrefix[name]}_BASE_URL`];
    const resourceName = name === 'azure' ? given['AZURE_RESOURCE_NAME'] : undefined;
    if (baseURL !== undefined && !webAddress.safeParse(baseURL).success)
      throw new ConfigurationError(`${environmentPrefix[name]}_BASE_URL is wrong: it must be a http or https URL.`);
    const own = {
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(baseURL === undefined ? {} : { baseURL }),
      ...(resourceName === undefined ? {} : { resourceName }),
    };
    if (Object.keys(own).length > 0) credentials[name] = own;
  }
  return credentials;
}

function apiKeyFrom(given: GivenVariables): string | null {
  const key = given['REINS_API_KEY'];
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new ConfigurationError('REINS_API_KEY is wrong: it must be visible ASCII without spaces, as in a header.');
  return key ?? null;
}

function refuseUnguardedBind({ server }: Config): void {
  const loopback = server.host === 'localhost' || server.host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(server.host);
  if (loopback || server.apiKey !== null) return;
  throw new ConfigurationError(
    `The host ${server.host} is reachable from other machines, so a key is needed: set REINS_API_KEY, or use 127.0.0.1.`,
  );
}

function refuseTimeoutAboveMaximum({ limits }: Config): void {
  if (limits.timeoutSeconds <= limits.maxTimeoutSeconds) return;
  throw new ConfigurationError(
    "'limits.timeoutSeconds' is above 'limits.maxTimeoutSeconds': lower the one or raise the other.",
  );
}

function toPath(path: string, folder = '.'): string {
  return resolve(folder, path.replace(/^~(?=$|[/\\])/, homedir()));
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')) return null;
    throw new ConfigurationError(`The settings file ${path} cannot be read.`, { cause });
  }
}

/** Everything in the settings that no log line and no error may show (E-071). */
export function secretsOf(config: Config): readonly string[] {
  return namedSecrets(config).map(({ value }) => value);
}

/** With what the operator calls each. */
export function namedSecrets({
  server,
  models,
  agent,
}: Config): readonly { readonly name: string; readonly value: string }[] {
  const keys = providerNames.map(
    (name) => [`${environmentPrefix[name]}_API_KEY`, models.credentials[name]?.apiKey] as const,
  );
  const ofServers = agent.mcp.flatMap((each) =>
    Object.entries('url' in each ? (each.headers ?? {}) : (each.env ?? {})).map(
      ([name, value]) => [`agent.mcp ${each.name} ${name}`, value] as const,
    ),
  );
  const all = [['REINS_API_KEY', server.apiKey] as const, ...keys, ...ofServers];
  return all.flatMap(([name, value]) => (value === null || value === undefined ? [] : [{ name, value }]));
}

/** What a command about a server is told, or finds in the data folder on this machine; null: neither. */
export function remoteSettings(
  dataDir: string,
  env: Environment = process.env,
): { readonly url: string | null; readonly key: string | null } {
  const given = givenVariables(env);
  const kept = (name: string) => readIfThere(join(dataDir, name))?.trim() || null;
  return { url: given['REINS_URL'] ?? kept('server.url'), key: given['REINS_API_KEY'] ?? kept('key') };
}

/** The environment as it is: for child processes, which get what they may have of it, never for settings. */
export function hostEnvironment(): Environment {
  return process.env;
}
