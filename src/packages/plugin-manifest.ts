import * as z from 'zod';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import { PluginInvalidError, UnsupportedPluginSchemaError } from './plugin-errors.ts';
import { pluginSchemas } from '../core/plugin-schema.ts';
import { readJson } from './read-json.ts';
import type { BundleFile } from '../stores/harness-record.ts';
import type { Skipped } from './read-plugin.ts';

const file = 'plugin.json';
const text = z.string('must be a string');
const maxNameUnits = 64;

const authorShape = 'must be an object of name, email and url';
const person = z.strictObject({ name: text, email: text, url: text }, authorShape).partial();
const fields = z.object({
  name: text
    .max(maxNameUnits, `has more than ${maxNameUnits} characters`)
    .regex(
      /^(?!.*(--|\.\.))[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
      'is not made of a-z, 0-9, single hyphens and single dots, with a letter or digit at both ends',
    ),
  version: text.exactOptional(),
  description: text.exactOptional(),
  author: person.exactOptional(),
  homepage: text.exactOptional(),
  repository: text.exactOptional(),
  license: text.exactOptional(),
  keywords: z.array(text, 'must be a list of strings').exactOptional(),
});
const known = new Set(['$schema', 'extensions', ...Object.keys(fields.shape)]);

/** The manifest, checked as UP-20 to UP-23 say. @throws PluginInvalidError, UnsupportedPluginSchemaError */
export function readManifest(
  files: readonly BundleFile[],
  param?: string,
): { readonly name: string; readonly manifest: JsonObject; readonly skipped: readonly Skipped[] } {
  const invalid = (reason: string) => new PluginInvalidError({ path: file, reason }, param);
  const read = readJson(files, file);
  if (read === undefined) throw invalid('There is no plugin.json at its root.');
  if ('fault' in read) throw invalid(read.fault);
  const manifest = read.value;
  if (!isJsonObject(manifest)) throw invalid('The manifest must be an object.');
  const { $schema: schema } = manifest;
  if (typeof schema !== 'string') throw invalid('The manifest needs a $schema, a string.');
  if (!pluginSchemas.includes(schema)) throw new UnsupportedPluginSchemaError(param);
  const { data, error } = fields.safeParse(manifest);
  const issue = error?.issues[0];
  if (data === undefined)
    throw invalid(`In the manifest, '${issue?.path.join('.') ?? ''}' ${issue?.message ?? 'is wrong'}.`);
  return { name: data.name, manifest, skipped: [...ignored(manifest)] };
}

function* ignored(manifest: JsonObject): Generator<Skipped> {
  const { extensions } = manifest;
  for (const key of Object.keys(manifest))
    if (!known.has(key)) yield { path: `${file}#/${pointer(key)}`, reason: 'A manifest has no such field.' };
  if (extensions !== undefined && !isJsonObject(extensions))
    yield { path: `${file}#/extensions`, reason: 'It must be an object.' };
}

/** A key as a part of a JSON pointer. */
export function pointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
