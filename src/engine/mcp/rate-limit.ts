import { isJsonObject, parsedOrText, type JsonValue } from '../../core/json.ts';
import type { ToolOutput } from '../tool.ts';

/** A result longer than this speaks about something; it is no notice. */
const maxNoticeUnits = 1000;
const statusKeys = ['status', 'statusCode', 'status_code', 'code'];

export function namesRateLimit(message: string): boolean {
  return /\b429\b|rate.?limit|too many requests/i.test(message);
}

/** "429 inside a 200": an error result that names a rate limit, or any short result that is nothing but such a notice (E-903). */
export function isRateLimit({ content, isError = false }: ToolOutput): boolean {
  if (content.length > maxNoticeUnits) return false;
  if (isError) return namesRateLimit(content);
  return /^\W*(error\W+)?(http\W*)?(status\W*)?429\b/i.test(content) || hasStatus429(parsedOrText(content));
}

function hasStatus429(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  return statusKeys.some((key) => value[key] === 429 || value[key] === '429') || hasStatus429(value['error'] ?? null);
}
