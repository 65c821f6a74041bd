// What Codex says of a tool's call, as an item of its thread.

import { isAbsolute, relative } from 'node:path';
import { namedPaths, pathsOf, type NamedPaths } from '../foreign/named-paths.ts';
import { countOf, listOf, objectOf, objectsOf, textOf, wordOf } from '../foreign/fields.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { NativeCall, NativeFact } from '../foreign/native-fact.ts';

/** Null: the item is no call of a tool. */
export function callOf(item: JsonObject): NativeCall | null {
  const id = wordOf(item['id']);
  if (id === null) return null;
  switch (textOf(item['type'])) {
    case 'commandExecution':
      return { id, ...commandIn(item) };
    case 'fileChange':
      return { id, name: 'apply_patch', input: patchInput(objectsOf(item['changes'])) };
    case 'mcpToolCall':
      return { id, name: mcpName(wordOf(item['server']), wordOf(item['tool'])), input: item['arguments'] ?? {} };
    case 'dynamicToolCall':
      return { id, name: wordOf(item['tool']) ?? 'tool', input: item['arguments'] ?? {} };
    case 'webSearch':
      return { id, name: 'web_search', input: { query: item['query'] ?? '' } };
    case 'imageView':
      return { id, name: 'view_image', input: { path: item['path'] ?? '' } };
    default:
      return null;
  }
}

/** The files stand before what becomes of them, since little more than the first words of a call is shown in some places. */
function patchInput(changes: readonly JsonObject[]): JsonObject {
  const files = changedFiles(changes);
  const named = files.length === 1 ? { path: files.join() } : { paths: files.join(', ') };
  return { ...(files.length === 0 ? {} : named), changes };
}

function changedFiles(changes: readonly JsonObject[]): readonly string[] {
  const paths = changes.flatMap((change) => [change['path'], objectOf(change['kind'])['move_path']]);
  return pathsOf(paths).paths ?? [];
}

/** The files that a call names, as its gate tells them; an absent list: none. */
export function pathsIn({ name, input }: NativeCall): NamedPaths {
  if (name !== 'apply_patch') return namedPaths(input, ['path']);
  const paths = changedFiles(objectsOf(objectOf(input)['changes']));
  return paths.length === 0 ? {} : { paths };
}

/** Of an item, and of the request to run it alike: what is approved has the digest of what was announced. */
export function commandIn(fields: JsonObject): Omit<NativeCall, 'id'> {
  return { name: 'exec_command', input: { command: fields['command'] ?? '', cwd: fields['cwd'] ?? '' } };
}

export function mcpName(server: string | null, tool: string | null): string {
  return `mcp__${server}__${tool}`;
}

/** How it ended, from the completed item of a call. */
export function endOf(item: JsonObject, id: string): Extract<NativeFact, { is: 'call-ended' }> {
  const status = wordOf(item['status']);
  const failed = status === 'failed' || item['success'] === false || Object.keys(objectOf(item['error'])).length > 0;
  const outcome = status === 'declined' ? 'denied' : failed ? 'error' : 'ok';
  return { is: 'call-ended', id, outcome, content: contentOf(item) };
}

function contentOf(item: JsonObject): string {
  switch (textOf(item['type'])) {
    case 'commandExecution': {
      const code = countOf(item['exitCode']);
      return `${textOf(item['aggregatedOutput'])}${code === 0 ? '' : `\nExit code: ${code}`}`.trimStart();
    }
    case 'mcpToolCall': {
      const error = wordOf(objectOf(item['error'])['message']);
      return error ?? textsOf(objectsOf(objectOf(item['result'])['content']));
    }
    case 'dynamicToolCall':
      return textsOf(objectsOf(item['contentItems']));
    default:
      return '';
  }
}

function textsOf(parts: readonly JsonObject[]): string {
  return parts.map((part) => wordOf(part['text']) ?? JSON.stringify(part)).join('\n');
}

/** The files that an applied patch has changed, by paths relative to the workspace; none outside of it. */
export function filesOf(item: JsonObject, workspace: string): readonly NativeFact[] {
  if (item['type'] !== 'fileChange' || item['status'] !== 'completed') return [];
  const inside = (path: string) => {
    const within = isAbsolute(path) ? relative(workspace, path) : path;
    return within === '' || within.startsWith('..') ? null : within;
  };
  const file = (kind: 'create' | 'modify' | 'delete', path: string | null): NativeFact[] => {
    const within = path === null ? null : inside(path);
    return within === null ? [] : [{ is: 'file', kind, path: within }];
  };
  return listOf(item['changes']).flatMap((change) => {
    if (!isJsonObject(change)) return [];
    const path = wordOf(change['path']);
    const kind = objectOf(change['kind']);
    const moved = wordOf(kind['move_path']);
    if (kind['type'] === 'add') return file('create', path);
    if (kind['type'] === 'delete') return file('delete', path);
    return moved === null ? file('modify', path) : [...file('delete', path), ...file('create', moved)];
  });
}
