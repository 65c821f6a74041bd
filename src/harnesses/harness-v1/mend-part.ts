import { FinishReasons } from '../../protocol/parts/part-type.ts';
import { isRecord } from '../../protocol/parts/part-json.ts';
import { isJsonObject, toJsonValue, type JsonValue } from '../../core/json.ts';

/**
 * What adapters that are written by hand get wrong, made right before it is read (P-075): input that is no text, reasons of a
 * younger vocabulary, values of the host language where there should be JSON.
 */
export function mendPart(part: unknown): unknown {
  if (!isRecord(part)) return part;
  switch (part['type']) {
    case 'tool-call': {
      const { input } = part;
      return typeof input === 'string' || input === undefined
        ? part
        : { ...part, input: JSON.stringify(toJsonValue(input)) };
    }
    case 'tool-result':
      // A tool that gives nothing back has run nevertheless.
      return { ...part, result: toJsonValue(part['result'] ?? null) };
    case 'finish-step':
    case 'finish':
      return { ...part, finishReason: mendReason(part['finishReason']) };
    case 'error':
      return { ...part, error: errorValue(part['error']) };
    case 'raw':
      return { ...part, rawValue: null };
    default:
      return part;
  }
}

/** What clients of providers put beside the message says whose fault it was. */
export function errorValue(error: unknown): JsonValue {
  const value = toJsonValue(error);
  const status: unknown = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  return isJsonObject(value) && typeof status === 'number' ? { ...value, statusCode: status } : value;
}

function mendReason(reason: unknown): unknown {
  if (!isRecord(reason)) return reason;
  const { unified, raw } = reason;
  const isKnown = typeof unified !== 'string' || Object.values<string>(FinishReasons).includes(unified);
  return isKnown ? reason : { unified: 'other', raw: raw ?? unified };
}
