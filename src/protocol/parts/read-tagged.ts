import { isRecord } from './part-json.ts';
import { StreamPartError } from './stream-part-error.ts';

export interface PartLimits {
  /** Of text, in bytes, or UTF-16 units of a string; of a parsed value, how many values it holds. 16 Mi unless said. */
  readonly maxBytes?: number;
  /** Levels of nesting, the part's own the first. 256 unless said. */
  readonly maxDepth?: number;
}

export interface Tagged {
  readonly type: string;
  /** All of the top level, `type` included. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * The type and the members of a part, whatever its type.
 * @param data  JSON text, its UTF-8 bytes, or what was parsed from it.
 * @throws StreamPartError  Too large, no JSON, no object, or without a string `type`.
 */
export function readTagged(data: unknown, limits: PartLimits = {}): Tagged {
  const fields = readValue(data, limits);
  if (!isRecord(fields)) throw new StreamPartError('not_object');
  const { type } = fields;
  if (typeof type !== 'string') throw new StreamPartError('missing_type');
  return { type, fields };
}

function readValue(data: unknown, limits: PartLimits): unknown {
  const { maxBytes = 16 * 2 ** 20 } = limits;
  const size = typeof data === 'string' ? data.length : data instanceof Uint8Array ? data.byteLength : 0;
  if (size > maxBytes) throw new StreamPartError('too_large');
  const value = typeof data === 'string' || data instanceof Uint8Array ? parse(data) : data;
  if (!fits(value, limits)) throw new StreamPartError('too_large');
  return value;
}

function parse(data: string | Uint8Array): unknown {
  try {
    const text =
      typeof data === 'string' ? data.replace(/^\uFEFF/, '') : new TextDecoder('utf-8', { fatal: true }).decode(data);
    return JSON.parse(text);
  } catch (cause) {
    // The parser's own message quotes the text.
    throw new StreamPartError('not_json', { cause: cause instanceof Error ? cause.name : undefined });
  }
}

/** Whether it can be walked. Depth first: a cycle, as deep as one likes, is known at its first branch. */
export function fits(value: unknown, { maxBytes = 16 * 2 ** 20, maxDepth = 256 }: PartLimits = {}): boolean {
  let room = maxBytes;
  const walk = (item: unknown, depth: number): boolean => {
    if (typeof item !== 'object' || item === null) return true;
    if (depth > maxDepth) return false;
    return Object.values(item).every((member) => --room >= 0 && walk(member, depth + 1));
  };
  return walk(value, 1);
}
