// What Codex says of a tool's call, as an item of its thread.

import { isAbsolute, relative } from 'node:path';
import { countIn, listIn, objectIn, objectsIn, textIn } from './fields.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { NativeCall, NativeFact } from '../foreign/native-fact.ts';

/** Null: the item is no call of a tool. */
export function callOf(item: JsonObject): NativeCall | null {
  const id = textIn(item, 'id');
  if (id === null) return null;
  switch (textIn(item, 'type') ?? '') {
    case 'commandExecution':
      return { id, ...commandIn(item) };
    case 'fileChange':
      return { id, name: 'apply_patch', input: { changes: objectsIn(item, 'changes') } };
    case 'mcpToolCall':
      return { id, name: mcpName(textIn(item, 'server'), textIn(item, 'tool')), input: item['arguments'] ?? {} };
    case 'dynamicToolCall':
      return { id, name: textIn(item, 'tool') ?? 'tool', input: item['arguments'] ?? {} };
    case 'webSearch':
      return { id, name: 'web_search', input: { query: item['query'] ?? '' } };
    case 'imageView':
      return { id, name: 'view_image', input: { path: item['path'] ?? '' } };
    default:
      return null;
  }
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
  const status = textIn(item, 'status');
  const failed = status === 'failed' || item['success'] === false || Object.keys(objectIn(item, 'error')).length > 0;
  const outcome = status === 'declined' ? 'denied' : failed ? 'error' : 'ok';
  return { is: 'call-ended', id, outcome, content: contentOf(item) };
}

function contentOf(item: JsonObject): string {
  switch (textIn(item, 'type') ?? '') {
    case 'commandExecution': {
      const code = countIn(item, 'exitCode');
      return `${textIn(item, 'aggregatedOutput') ?? ''}${code === 0 ? '' : `\nExit code: ${code}`}`.trimStart();
    }
    case 'mcpToolCall': {
      const error = textIn(objectIn(item, 'error'), 'message');
      return error ?? textsOf(objectsIn(objectIn(item, 'result'), 'content'));
    }
    case 'dynamicToolCall':
      return textsOf(objectsIn(item, 'contentItems'));
    default:
      return '';
  }
}

function textsOf(parts: readonly JsonObject[]): string {
  return parts.map((part) => textIn(part, 'text') ?? JSON.stringify(part)).join('\n');
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
  return listIn(item, 'changes').flatMap((change) => {
    if (!isJsonObject(change)) return [];
    const path = textIn(change, 'path');
    const kind = objectIn(change, 'kind');
    const moved = textIn(kind, 'move_path');
    if (kind['type'] === 'add') return file('create', path);
    if (kind['type'] === 'delete') return file('delete', path);
    return moved === null ? file('modify', path) : [...file('delete', path), ...file('create', moved)];
  });
}
