// What little says most about a call that went well: paths, counts and status, never bodies.

import { fileResult, type FileResult } from './file-result.ts';
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
      return withPath(facts, (path) => readBits(path, fileResult(content, name === 'Read')));
    case 'list':
      return listBits(textIn(facts, pathNames) ?? '.', content);
    case 'write':
      return withPath(
        facts,
        (path) => `${path} · ${facts.fileBytes ?? bytes(textIn(facts, ['content']) ?? '')} B written`,
      );
    case 'edit':
      return withPath(facts, (path) => `${path} · ${changeBits(facts)}`);
    case 'command':
      return commandBits(facts);
    case 'http':
      return httpBits(facts);
    case 'search':
    case 'other':
      return null;
  }
}

const pathNames = [
  'path',
  'file_path',
  'filePath',
  'absolute_path',
  'notebook_path',
  'dir_path',
  'directory',
  'filename',
  'file',
  'paths',
];

function textIn({ input }: ToolFacts, names: readonly string[]): string | null {
  if (!isJsonObject(input)) return null;
  const values = names.map((name) => input[name]);
  return values.find((value) => typeof value === 'string') ?? null;
}

function withPath(facts: ToolFacts, say: (path: string) => string): string | null {
  const path = textIn(facts, pathNames);
  return path === null ? null : say(oneLine(path));
}

function readBits(path: string, { text, truncated }: FileResult): string {
  return `${path}${truncated ? ' truncated' : ''} · ${lineCount(text)} lines · ${bytes(text)} B`;
}

/** Notes stand in brackets, and what a line is of before its name. */
function listBits(path: string, content: string): string {
  const lines = content.split('\n').filter((line) => !/^(?:\[.*\]|\(.*\)|Directory listing for .*:)$/.test(line));
  const entries = lines.map((line) => line.replace(/^\[DIR\] /, '').trim()).filter((line) => line !== '');
  const names = entries.join(', ');
  const count = `${oneLine(path)}: ${entries.length} entries`;
  return names !== '' && names.length <= 72 ? `${count} — ${names}` : count;
}

/** As the tool has counted, else by what it was asked for: a list of edits, or a patch. */
function changeBits(facts: ToolFacts): string {
  const { content, input } = facts;
  const { edits = null, changes = null, replace_all } = isJsonObject(input) ? input : {};
  const added = changedBy(changes, 'add');
  if (added !== null && changedBy(changes) === null) return `${bytes(added.join(''))} B written`;
  const told = /\b[Rr]eplaced (\d+) |\((\d+) replacements?\)/.exec(content);
  if (told === null && replace_all === true) return `all replaced${fileSize(facts)}`;
  const patched = changedBy(changes)?.reduce((sum, diff) => sum + (diff.match(/^@@/gm)?.length ?? 1), 0);
  const count = Number(told?.[1] ?? told?.[2] ?? patched ?? (Array.isArray(edits) ? edits.length : 1));
  return `${count} ${count === 1 ? 'replacement' : 'replacements'}${fileSize(facts)}`;
}

/** What a patch says of the files that it makes, or of the others; null: of none. */
function changedBy(changes: JsonValue, kind?: 'add'): readonly string[] | null {
  if (!Array.isArray(changes)) return null;
  const said = changes.filter(isJsonObject).flatMap(({ kind: how = null, diff }) => {
    const adds = isJsonObject(how) && how['type'] === 'add';
    return adds === (kind === 'add') ? [typeof diff === 'string' ? diff : ''] : [];
  });
  return said.length === 0 ? null : said;
}

function fileSize({ fileBytes }: ToolFacts): string {
  return fileBytes === undefined ? '' : ` · ${fileBytes} B`;
}

/** That a call went well means that its command ended with 0. Both outputs of ours come as one. */
function commandBits(facts: ToolFacts): string | null {
  const command = textIn(facts, ['command', 'cmd', 'script']);
  if (command === null) return null;
  const first = oneLine(ownCommand(command).split('\n', 1)[0] ?? '');
  const isSilent = /^[[(](?:Bash completed with )?no output\.?[\])]$/i.test(facts.content.trim());
  return `${head(first, 160)} · exit=0 · stdout ${isSilent ? 0 : lineCount(facts.content)}L`;
}

/** Without the shell that a runtime has wrapped around it. */
function ownCommand(command: string): string {
  const wrapped = /^(?:\/\S*\/)?(?:ba|z|da)?sh -l?c (?:'([^]*)'|"([^]*)"|([^]*))$/.exec(command.trim());
  const [, single, double, bare] = wrapped ?? [];
  if (double !== undefined) return double.replaceAll(/\\(["$\\`])/g, '$1');
  return single?.replaceAll(`'\\''`, "'") ?? bare ?? command.trim();
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
