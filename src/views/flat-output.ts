import { isJsonObject, parsedOrText, type JsonValue } from '../core/json.ts';
import { toolKindOf } from './tool-kind.ts';

/**
 * A tool's result as text for display. What a file or a command says is text even where it is JSON, but for a runtime's
 * own envelope around it; what any other tool gives back may be a structure that was written down.
 */
export function flatOutput(name: string, content: string): string {
  if (content.trim() === '') return '';
  const error = /^<tool_use_error>([^]*)<\/tool_use_error>\s*$/.exec(content)?.[1];
  if (error !== undefined) return error;
  const structure = toolKindOf(name) === 'other' ? /^\s*[[{]/ : /^(?:\{"content":)?\[\{"type":"text"/;
  const value = structure.test(content) ? parsedOrText(content) : content;
  const flat = flatten(value);
  return isJsonObject(value) && flat === JSON.stringify(value) ? content : flat;
}

/** Of any value that a tool may return. */
export function flatten(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value.trim() === '' ? '' : value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (!isJsonObject(value)) return joined(value.map(flatten));
  const { content, text, message } = value;
  const texts = Array.isArray(content) && content.length > 0 ? content.map(textOfPart) : [null];
  if (texts.every((each) => each !== null)) return joined(texts);
  if (typeof text === 'string') return text;
  return typeof message === 'string' ? message : JSON.stringify(value);
}

/** Null: it is none. */
function textOfPart(part: JsonValue): string | null {
  if (typeof part === 'string') return part;
  return isJsonObject(part) && part['type'] === 'text' && typeof part['text'] === 'string' ? part['text'] : null;
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n');
}
