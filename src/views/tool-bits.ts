// What little says most about a call that went well: paths, counts and status, never bodies.

import { head } from '../core/text.ts';
import { isJsonObject, type JsonValue } from '../core/json.ts';
import { toolKindOf } from './tool-kind.ts';

export interface ToolFacts {
  readonly name: string;
  /** As the model gave it; absent: unknown. */
  readonly input?: JsonValue;
  /** The result, whole. */
  readonly content: string;
  /** Size of the file that it wrote, where that is known. */
  readonly fileBytes?: number | undefined;
}

/** Null: nothing is known of such a tool or its arguments, and its text has to do. */
export function toolBits(facts: ToolFacts): string | null {
  const { name, content, input } = facts;
  if (input === undefined) return null;
  switch (toolKindOf(name)) {
    case 'read':
      return withPath(
        facts,
        (path) => `${path}${truncated(content)} · ${lineCount(content)} lines · ${bytes(content)} B`,
      );
    case 'list':
      return listBits(textIn(facts, pathNames) ?? '.', content);
    case 'write':
      return withPath(
        facts,
        (path) => `${path} · ${facts.fileBytes ?? bytes(textIn(facts, ['content']) ?? '')} B written`,
      );
    case 'edit':
      return withPath(facts, (path) => `${path} · ${replacements(content)}${fileSize(facts)}`);
    case 'command':
      return commandBits(facts);
    case 'http':
      return httpBits(facts);
    case 'search':
    case 'other':
      return null;
  }
}

const pathNames = ['path', 'file_path', 'filePath', 'filename', 'file'];

function textIn({ input }: ToolFacts, names: readonly string[]): string | null {
  if (!isJsonObject(input)) return null;
  const values = names.map((name) => input[name]);
  return values.find((value) => typeof value === 'string') ?? null;
}

function withPath(facts: ToolFacts, say: (path: string) => string): string | null {
  const path = textIn(facts, pathNames);
  return path === null ? null : say(oneLine(path));
}

function truncated(content: string): string {
  return /\n\[(?:Lines \d+ to \d+ of|Line \d+ has)[^\n]*\]$/.test(content) ? ' truncated' : '';
}

function listBits(path: string, content: string): string {
  const entries = content.split('\n').filter((line) => line !== '' && !/^\[.*\]$/.test(line));
  const names = entries.join(', ');
  const count = `${oneLine(path)}: ${entries.length} entries`;
  return names !== '' && names.length <= 72 ? `${count} — ${names}` : count;
}

function replacements(content: string): string {
  const count = /\bReplaced (\d+) places?\b/.exec(content)?.[1] ?? '1';
  return `${count} ${count === '1' ? 'replacement' : 'replacements'}`;
}

function fileSize({ fileBytes }: ToolFacts): string {
  return fileBytes === undefined ? '' : ` · ${fileBytes} B`;
}

/** That a call went well means that its command ended with 0. Both outputs of ours come as one. */
function commandBits(facts: ToolFacts): string | null {
  const command = textIn(facts, ['command', 'cmd', 'script']);
  if (command === null) return null;
  const first = oneLine(command.trim().split('\n', 1)[0] ?? '');
  return `${head(first, 160)} · exit=0 · stdout ${facts.content === '[No output.]' ? 0 : lineCount(facts.content)}L`;
}

function httpBits(facts: ToolFacts): string | null {
  const url = textIn(facts, ['url']);
  if (url === null) return null;
  const status = /^Status: (\d{3})\b/m.exec(facts.content)?.[1] ?? 'ok';
  return `${head(oneLine(url), 56)} → ${status} · ${bytes(facts.content)} B`;
}

function lineCount(text: string): number {
  return text === '' ? 0 : text.replace(/\n$/, '').split('\n').length;
}

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
