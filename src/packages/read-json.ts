import { textAt } from './check-files.ts';
import { toJsonValue, type JsonValue } from '../core/json.ts';
import type { BundleFile } from '../stores/harness-record.ts';

/** Larger than any that is meant to be read; it is kept in memory, and read again and again. */
const maxUnits = 256 * 1024;

/** The value of a JSON file; undefined: there is none. A fault is one sentence. */
export function readJson(
  files: readonly BundleFile[],
  path: string,
): { readonly value: JsonValue } | { readonly fault: string } | undefined {
  const text = textAt(files, path);
  if (text === undefined) return undefined;
  if (text !== null && text.length > maxUnits) return { fault: `The file is longer than ${maxUnits} characters.` };
  try {
    // By way of `toJsonValue`: what is nested without end would exhaust the stack of whoever writes it out again.
    return { value: toJsonValue(JSON.parse(text ?? '')) };
  } catch {
    return { fault: 'The file is not valid JSON.' };
  }
}
