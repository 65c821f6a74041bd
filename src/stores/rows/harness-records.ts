// Harnesses and bundles, as rows have them.

import { DamageError } from '../../core/errors.ts';
import { isJsonObject, type JsonValue } from '../../core/json.ts';
import type { RunPermissions } from '../../core/run-config.ts';
import { plainSetup } from '../harness-record.ts';
import type { BundleFile, HarnessRecord, HarnessSetup, StoredSecret } from '../harness-record.ts';
import { flag, integer, jsonObject, nested, nullable, oneOf, strings, text, truth, type Fields } from './columns.ts';
import { harnessId } from './records.ts';

export function bundleFiles(row: Fields): readonly BundleFile[] {
  const files: JsonValue = JSON.parse(text(row, 'files'));
  if (!Array.isArray(files)) throw damaged('files');
  return files.map((file: JsonValue): BundleFile => {
    if (!isJsonObject(file) || typeof file['path'] !== 'string') throw damaged('files');
    const { path, content, content_b64: encoded } = file;
    if (typeof content === 'string') return { path, content };
    if (typeof encoded === 'string') return { path, content_b64: encoded };
    throw damaged('files');
  });
}

export function harnessRecord(row: Fields): HarnessRecord {
  return {
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    name: text(row, 'name'),
    base: text(row, 'base'),
    defaultModel: nullable(row, 'default_model', text),
    systemPrompt: nullable(row, 'system_prompt', text),
    disabledTools: strings(row, 'disabled_tools'),
    maxStep: nullable(row, 'max_step', integer),
    timeoutSeconds: nullable(row, 'timeout_seconds', integer),
    permissions: nullable(row, 'permissions', permissions),
    planning: nullable(row, 'planning', flag),
    setup: nullable(row, 'setup', harnessSetup) ?? plainSetup,
    createdAtMs: integer(row, 'created_at'),
    deleted: flag(row, 'deleted'),
  };
}

/** Those of a harness, which works for nobody: there are none above. */
function permissions(row: Fields, name: string): RunPermissions {
  const stored = jsonObject(row, name);
  const tools = nested(stored, 'tools');
  return {
    mode: oneOf(stored, 'mode', ['allow-all', 'allow-edits', 'allow-reads']),
    tools: Object.fromEntries(Object.keys(tools).map((tool) => [tool, oneOf(tools, tool, ['allow', 'ask', 'deny'])])),
    onUnknown: oneOf(stored, 'onUnknown', ['park', 'tell-model']),
    questions: truth(stored, 'questions'),
    expiresAfterSeconds: nullable(stored, 'expiresAfterSeconds', integer),
    onExpiry: oneOf(stored, 'onExpiry', ['deny', 'cancel-run']),
  };
}

function harnessSetup(row: Fields, name: string): HarnessSetup {
  const stored = jsonObject(row, name);
  return {
    mcpServers: list(stored, 'mcpServers').map((server) => ({
      name: text(server, 'name'),
      url: text(server, 'url'),
      transport: oneOf(server, 'transport', ['http', 'sse']),
      enabled: truth(server, 'enabled'),
      headers: secrets(nested(server, 'headers')),
      auth: server['auth'] === null ? null : secret(nested(server, 'auth')),
    })),
    skills: list(stored, 'skills').map((skill) => ({
      name: text(skill, 'name'),
      enabled: truth(skill, 'enabled'),
      bundle: nullable(skill, 'bundle', text),
    })),
    plugins: list(stored, 'plugins').map((plugin) => ({
      name: text(plugin, 'name'),
      enabled: truth(plugin, 'enabled'),
      bundle: text(plugin, 'bundle'),
    })),
    modelFallback: truth(stored, 'modelFallback'),
    template: nullable(stored, 'template', text),
    workspaceConfig: truth(stored, 'workspaceConfig'),
  };
}

function list(stored: Fields, name: string): readonly Fields[] {
  const value = stored[name];
  if (!Array.isArray(value)) throw damaged(name);
  return value.map((_, index) => nested(Object.fromEntries(Object.entries(value)), String(index)));
}

function secrets(fields: Fields): Readonly<Record<string, StoredSecret>> {
  return Object.fromEntries(Object.keys(fields).map((name) => [name, secret(nested(fields, name))]));
}

function secret(fields: Fields): StoredSecret {
  return { id: text(fields, 'id'), value: text(fields, 'value') };
}

function damaged(name: string): DamageError {
  return new DamageError(`A stored record is damaged: '${name}' cannot be read.`);
}
