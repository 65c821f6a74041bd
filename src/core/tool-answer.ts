import { cutMiddle } from './text.ts';
import type { JsonValue } from './json.ts';

/** A stored raw result as the text that the model reads: two thirds of the limit from its head, one from its tail (E-550). */
export function toolAnswer(raw: JsonValue, maxChars: number): string {
  const text = typeof raw === 'string' ? raw : JSON.stringify(raw);
  const headChars = Math.floor((maxChars * 2) / 3);
  return cutMiddle(text, headChars, maxChars - headChars);
}
