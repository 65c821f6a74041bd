import { isJsonObject, parsedOrText } from '../../core/json.ts';
import { providerError } from '../foreign/provider-error.ts';
import type { ErrorInfo } from '../../core/outcome.ts';

/**
 * Pi tells of a failed model call in one text: `<status> <json>`, `<status>: <words>`, or the words of its client (H-508).
 * @param answered  The provider's status where the relay saw it, whatever Pi was told; null: not known.
 */
export function failureOf(text: string, answered: number | null): ErrorInfo {
  const [, told, rest = text] = /^(\d{3})[: ]\s*([\s\S]*)$/.exec(text) ?? [];
  const body = parsedOrText(rest);
  const outer = isJsonObject(body) ? body : {};
  const { type, message } = isJsonObject(outer['error']) ? outer['error'] : outer;
  const status = answered !== null && answered >= 400 ? answered : told === undefined ? null : Number(told);
  return providerError({
    status,
    type: typeof type === 'string' ? type : null,
    message: typeof message === 'string' ? `${message} ${rest}` : text,
  });
}
