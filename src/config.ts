// The settings of one process, and the only file that reads the environment (E-005).
//
// C1. Order: command line, environment, one JSON file, defaults. A later source fills only what an earlier one left out.
// C2. Every source is checked whole, also where another one wins: an unknown or wrong key stops the start and is named.
// C3. Credentials come from the environment alone, and no error text repeats a value.
// C4. Beyond loopback there is no start without a key that the operator has set (UD-70).

import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { catalogueEntry, groups, limitsOfOne, settings, webAddress, type Settings } from './settings.ts';
import { z } from 'zod';
import { ConfigurationError } from './core/errors.ts';
import { deepFreeze } from './core/deep-freeze.ts';
import { whereJsonBreaks } from './core/where-json-breaks.ts';
import { environmentPrefix, providerNames } from './core/provider-names.ts';
import type { ProviderName, ProviderSettings } from './core/provider-names.ts';

export interface Config extends Readonly<
  Omit<Settings, 'server' | 'models' | 'limits' | 'store' | 'files' | 'temporal'>
> {
  /** Absolute path of the file that was read, were it there. */
  readonly settingsFile: string;
  readonly server: Readonly<Settings['server']> & {
    /** `REINS_API_KEY`; null = the server makes one at its first start. */
    readonly apiKey: string | null;
  };
  readonly limits: Readonly<Settings['limits']> & { readonly withdrawSeconds: number };
  readonly store: Readonly<Settings['store']> & {
    /** `REINS_DATABASE_URL`; null = the file in the data folder. */
    readonly databaseUrl: string | null;
    /** `REINS_DATABASE_LISTEN_URL`: the way to it past a pooler; absent = the same, null (`off`) = none. */
    readonly listenUrl?: string | null;
  };
  readonly files: Readonly<Settings['files']> & {
    /** AWS's own, which its client reads by itself; here so that nothing repeats them. */
    readonly awsSecrets: readonly string[];
  };
  readonly temporal: Readonly<Settings['temporal']> & {
    /** `REINS_TEMPORAL_API_KEY`; null = none. */
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
  const store = { ...merged.store, ...databaseFrom(given) };
  // What chooses between machines has to see that one of them goes; on one machine nothing does.
  const withdrawSeconds = merged.limits.withdrawSeconds ?? (store.databaseUrl === null ? 0 : 5);
  const config: Config = {
    ...merged,
    settingsFile: path,
    server: { ...merged.server, dataDir: toPath(merged.server.dataDir), apiKey: apiKeyFrom(given) },
    limits: { ...merged.limits, withdrawSeconds },
    store,
    files: { ...merged.files, awsSecrets: awsSecrets.flatMap((name) => given[name] ?? []) },
    temporal: { ...merged.temporal, apiKey: given['REINS_TEMPORAL_API_KEY'] ?? null },
    models: { ...merged.models, credentials: credentialsFrom(given) },
  };
  refuseUnguardedBind(config);
  refuseTimeoutAboveMaximum(config);
  refuseAllPlacesParked(config);
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
  REINS_FILES_URL: ['files', 'url'],
  REINS_TEMPORAL_ADDRESS: ['temporal', 'address'],
  REINS_DEMO_SPEED: ['demo', 'speed'],
  REINS_LOG_LEVEL: ['server', 'logLevel'],
  SANDBOX_DEFAULT_CWD: ['agent', 'defaultCwd'],
  AGENT_REASONING: ['agent', 'reasoning'],
};
const awsSecrets = ['AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];
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
  const { temporal } = layer;
  return {
    ...layer,
    ...(temporal === undefined ? {} : { temporal: { ...temporal, ...withFolder('tls', temporal['tls'], folder) } }),
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
  const text = source.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message repeats a piece of the file (C3).
    const place = whereJsonBreaks(text);
    const where = place === null ? '' : `: see line ${place.line}, column ${place.column}`;
    throw new ConfigurationError(`The settings file ${path} is not valid JSON${where}.`);
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
      ...(baseURL === undefined ? {} : { baseURL: name === 'anthropic' ? withVersion(baseURL) : baseURL }),
      ...(resourceName === undefined ? {} : { resourceName }),
    };
    if (Object.keys(own).length > 0) credentials[name] = own;
  }
  return credentials;
}

/** Anthropic's own clients are told the host alone, and add the version themselves. */
function withVersion(baseURL: string): string {
  const url = new URL(baseURL);
  if (url.pathname !== '/') return baseURL;
  url.pathname = '/v1';
  return url.href;
}

function apiKeyFrom(given: GivenVariables): string | null {
  const key = given['REINS_API_KEY'];
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key))
    throw new ConfigurationError('REINS_API_KEY is wrong: it must be visible ASCII without spaces, as in a header.');
  return key ?? null;
}

function databaseFrom(given: GivenVariables): Pick<Config['store'], 'databaseUrl' | 'listenUrl'> {
  const urlOf = (name: string): string | null => {
    const url = given[name];
    if (url !== undefined && !/^postgres(?:ql)?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw new ConfigurationError(`${name} is wrong: it must be an URL as postgres://user:password@host/database.`);
    return url ?? null;
  };
  const databaseUrl = urlOf('REINS_DATABASE_URL');
  const listen = given['REINS_DATABASE_LISTEN_URL'];
  if (listen === undefined) return { databaseUrl };
  return { databaseUrl, listenUrl: listen === 'off' ? null : urlOf('REINS_DATABASE_LISTEN_URL') };
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

/** Of all places one is never kept from those who wait for it. */
function refuseAllPlacesParked({ harnesses: { maxParked, maxProcesses } }: Config): void {
  if (maxParked === null || maxProcesses === null || maxParked < maxProcesses) return;
  throw new ConfigurationError(
    `'harnesses.maxParked' is ${maxParked}, and must be below 'harnesses.maxProcesses', which is ${maxProcesses}: lower the one or raise the other.`,
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
  store,
  models,
  agent,
  files,
  temporal,
}: Config): readonly { readonly name: string; readonly value: string }[] {
  const keys = providerNames.map(
    (name) => [`${environmentPrefix[name]}_API_KEY`, models.credentials[name]?.apiKey] as const,
  );
  const ofServers = agent.mcp.flatMap((each) =>
    Object.entries('url' in each ? (each.headers ?? {}) : (each.env ?? {})).map(
      ([name, value]) => [`agent.mcp ${each.name} ${name}`, value] as const,
    ),
  );
  const databases = [store.databaseUrl, store.listenUrl ?? null].flatMap((url) => [
    ['REINS_DATABASE_URL', url] as const,
    ['REINS_DATABASE_URL', passwordOf(url)] as const,
  ]);
  const ofFiles = files.awsSecrets.map((value) => ['AWS credentials', value] as const);
  const own = [
    ['REINS_API_KEY', server.apiKey],
    ['REINS_TEMPORAL_API_KEY', temporal.apiKey],
  ] as const;
  const all = [...own, ...databases, ...ofFiles, ...keys, ...ofServers];
  return all.flatMap(([name, value]) => (value === null || value === undefined ? [] : [{ name, value }]));
}

function passwordOf(url: string | null): string | null {
  const password = url === null ? '' : (URL.parse(url)?.password ?? '');
  return password === '' ? null : decodeURIComponent(password);
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
