import * as z from 'zod';
import { headersFault, serverUrlFault } from './server-address.ts';
import { isJsonObject, type JsonValue } from '../core/json.ts';
import { pathFault } from './check-files.ts';
import { pluginServersSchema } from '../core/plugin-schema.ts';
import { pointer } from './plugin-manifest.ts';
import { readJson } from './read-json.ts';
import type { BundleFile } from '../stores/harness-record.ts';
import type { PluginServer } from '../core/run-config.ts';
import type { Skipped } from './read-plugin.ts';

const file = 'mcp.json';

/** Free of what cannot be handed to a process. */
const argument = z.string().refine((text) => !text.includes('\0'), 'It holds a NUL character.');
const variables = z
  .record(z.string(), argument)
  .refine((env) => !('PLUGIN_ROOT' in env || 'PLUGIN_DATA' in env), 'PLUGIN_ROOT and PLUGIN_DATA are not its to set.')
  .refine((env) => Object.keys(env).every((name) => /^[^=\0]+$/.test(name)), 'A variable has no such name.');
const url = z.string().check(saying(serverUrlFault));
const headers = z.record(z.string(), z.string()).check(saying(headersFault));

const entry = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('stdio'),
    command: z.string().refine(isCommand, 'Its command is not one bare name, or ./ and a path inside of the package.'),
    args: z.array(argument).exactOptional(),
    env: variables.exactOptional(),
    cwd: z.string().refine(isFolder, 'Its cwd does not lie in the package, or in its data folder.').exactOptional(),
  }),
  z.strictObject({ type: z.literal('streamable-http'), url, headers: headers.exactOptional() }),
  z.strictObject({ type: z.literal('sse'), url, headers: headers.exactOptional() }),
]);

/** The servers of `mcp.json` that can be used; its absence is no fault (UP-30 to UP-34). */
export function readServers(files: readonly BundleFile[]): {
  readonly found: readonly PluginServer[];
  readonly skipped: readonly Skipped[];
} {
  const read = readJson(files, file);
  if (read === undefined) return { found: [], skipped: [] };
  const servers = 'fault' in read ? read.fault : serversIn(read.value);
  if (typeof servers === 'string') return { found: [], skipped: [{ path: file, reason: servers }] };
  const results = Object.entries(servers).map(([name, value]) => ({ name, read: readEntry(name, value) }));
  return {
    found: results.flatMap(({ read: one }) => (typeof one === 'string' ? [] : [one])),
    skipped: results.flatMap(({ name, read: one }) =>
      typeof one === 'string' ? [{ path: serverPath(name), reason: one }] : [],
    ),
  };
}

/** Where `skipped` finds a server. */
export function serverPath(name: string): string {
  return `${file}#/mcpServers/${pointer(name)}`;
}

/** The entries, or why there are none. */
function serversIn(value: JsonValue): Readonly<Record<string, JsonValue>> | string {
  if (!isJsonObject(value)) return 'The file must hold an object.';
  const { $schema: schema, mcpServers, ...rest } = value;
  if (schema !== pluginServersSchema) return 'Its $schema is missing, or not that of the manifest.';
  if (!isJsonObject(mcpServers)) return 'Its mcpServers must be an object.';
  return Object.keys(rest).length === 0 ? mcpServers : 'It may hold $schema and mcpServers only.';
}

function readEntry(name: string, value: JsonValue): PluginServer | string {
  if (name === '') return 'It has no name.';
  const { data, error } = entry.safeParse(value);
  if (data === undefined) return sentenceOf(error.issues[0]);
  if (data.type === 'stdio') {
    const { command, args = [], env = {}, cwd } = data;
    return { name, transport: 'stdio', command, args, env, ...(cwd === undefined ? {} : { cwd }) };
  }
  const transport = data.type === 'sse' ? 'sse' : 'http';
  return { name, transport, url: data.url, headers: data.headers ?? {} };
}

function sentenceOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'custom') return issue.message;
  if (issue?.code === 'invalid_union') return 'Its type is not stdio, streamable-http or sse.';
  if (issue?.code === 'unrecognized_keys') return 'It has a field that a server of its type does not have.';
  const [field] = issue?.path ?? [];
  return field === undefined ? 'It must be an object.' : `Its ${String(field)} is missing or of a wrong type.`;
}

function saying<T>(faultOf: (value: T) => string | null): (payload: z.core.ParsePayload<T>) => void {
  return ({ value, issues }) => {
    const message = faultOf(value);
    if (message !== null) issues.push({ code: 'custom', message, input: value });
  };
}

function isCommand(command: string): boolean {
  if (/[\s\p{Cc}]/u.test(command)) return false;
  if (command.startsWith('./')) return pathFault(command.slice(2)) === null;
  return pathFault(command) === null && !command.includes('/');
}

function isFolder(cwd: string): boolean {
  const rest = /^(?:\.|\$\{PLUGIN_(?:ROOT|DATA)\})(\/.*)?$/s.exec(cwd);
  if (rest === null || cwd === '.') return false;
  const inside = (rest[1] ?? '').replace(/^\//, '').replace(/\/$/, '');
  return inside === '' || pathFault(inside) === null;
}
