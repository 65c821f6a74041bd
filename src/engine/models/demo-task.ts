// What a message asks of the demo model (E-908). Total over all texts: every pattern is anchored and bounded, so that a
// hostile message costs no more than a long one.

import { isJsonObject, toJsonValue, type JsonObject } from '../../core/json.ts';

export type DemoTask =
  | { readonly form: 'reply'; readonly text: string }
  | { readonly form: 'summarise'; readonly file: string; readonly bullets: number }
  | { readonly form: 'write'; readonly file: string; readonly content: string }
  | { readonly form: 'count'; readonly from: number; readonly to: number }
  | { readonly form: 'call'; readonly tool: string; readonly input: JsonObject | string }
  | { readonly form: 'shell'; readonly command: string };

const readers: readonly ((message: string) => DemoTask | null)[] = [reply, summarise, write, count, call, shell];

/** The first form that fits, or null. */
export function readDemoTask(message: string): DemoTask | null {
  const text = withoutFullStop(message.trim());
  for (const read of readers) {
    const task = read(text);
    if (task !== null) return task;
  }
  return null;
}

/** A full stop that closes the message is no part of what it names; `..` or ` .` at the end of a command is. */
const withoutFullStop = (text: string): string => text.replace(/(?<=[\p{L}\p{N}\p{Pe}"'`])\.$/u, '');

/** What follows the pattern, and its groups; null when the text does not begin with it. */
function after(text: string, pattern: RegExp): { readonly rest: string; readonly groups: readonly string[] } | null {
  const found = pattern.exec(text);
  if (found === null) return null;
  return { rest: text.slice(found[0].length), groups: found.slice(1).map((group) => group ?? '') };
}

const unquoted = (text: string): string => /^(["'`])(.*)\1$/s.exec(text)?.[2] ?? text;

function reply(text: string): DemoTask | null {
  const found = after(text, /^reply\s+with\s+exactly\s*:\s*/i);
  return found === null || found.rest === '' ? null : { form: 'reply', text: found.rest };
}

const numberWords = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const mostBullets = 20;

function summarise(text: string): DemoTask | null {
  const [verb = '', ...words] = text.slice(0, 500).split(/\s+/);
  if (!/^summari[sz]e$/i.test(verb) || words.length === 0) return null;
  const last = words.findLastIndex((word) => /^in$/i.test(word));
  const counted = last > 0 && words.slice(last).some((word) => /^bullets?$/i.test(word));
  const file = (counted ? words.slice(0, last) : words).join(' ').replace(/^the\s+file\s+/i, '');
  return { form: 'summarise', file: unquoted(file), bullets: counted ? bulletCount(words[last + 1] ?? '') : 3 };
}

function bulletCount(word: string): number {
  const named = numberWords.indexOf(word.toLowerCase()) + 1;
  const wanted = named > 0 ? named : /^\d+$/.test(word) ? Number(word) : 3;
  return Math.min(Math.max(wanted, 1), mostBullets);
}

function write(text: string): DemoTask | null {
  const found = after(text, /^create\s+a\s+file\s+named\s+([^\n]{1,300}?)\s+containing\s+exactly\s*:[ \t]*\n?/i);
  return found === null ? null : { form: 'write', file: unquoted(found.groups[0] ?? ''), content: found.rest };
}

function count(text: string): DemoTask | null {
  const found = after(text, /^count\s+slowly\s+from\s+(-?\d{1,7})\s+to\s+(-?\d{1,7})(?=$|[\s,.])/i);
  if (found === null) return null;
  return { form: 'count', from: Number(found.groups[0]), to: Number(found.groups[1]) };
}

function call(text: string): DemoTask | null {
  const found = after(text, /^call\s+the\s+tool\s+(\S{1,200})\s+with\s+(the\s+text\s+)?/i);
  if (found === null) return null;
  const tool = unquoted(found.groups[0] ?? '');
  const end = found.rest.search(/ and reply with exactly what it returns/i);
  const given = (end === -1 ? found.rest : found.rest.slice(0, end)).trim();
  if (found.groups[1] !== '') return { form: 'call', tool, input: unquoted(given) };
  const input = parseObject(given);
  return input === null ? null : { form: 'call', tool, input };
}

function parseObject(text: string): JsonObject | null {
  try {
    const value = toJsonValue(JSON.parse(text));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function shell(text: string): DemoTask | null {
  const found = after(text, /^run\s+this\s+shell\s+command(?![\w-])[^:\n]{0,200}:\s*/i);
  return found === null || found.rest === '' ? null : { form: 'shell', command: found.rest };
}
