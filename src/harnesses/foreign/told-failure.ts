import { objectOf, wordOf } from './fields.ts';
import { parsedOrText } from '../../core/json.ts';
import { providerError } from './provider-error.ts';
import type { ErrorInfo } from '../../core/outcome.ts';

/**
 * A failed model call of which a runtime tells in one text: the provider's answer, `<status> <answer>`, `<status>: <words>`,
 * or the words of its client (H-508).
 * @param seen  The provider's status as somebody saw it, whatever the runtime was told; null: nobody did.
 */
export function toldFailure(text: string, seen: number | null): ErrorInfo {
  const [, told, rest = text] = /^(\d{3})[: ]\s*([\s\S]*)$/.exec(text) ?? [];
  const body = objectOf(parsedOrText(rest));
  const { type, status, message } = { ...body, ...objectOf(body['error']) };
  return providerError({
    status: seen ?? (told === undefined ? null : Number(told)),
    type: wordOf(type) ?? wordOf(status),
    message: typeof message === 'string' ? `${message} ${rest}` : text,
  });
}
