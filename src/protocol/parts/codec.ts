// How values inside a part are read. The same reading stands before writing: what it gives is plain, complete, and made of
// nothing but JSON and undefined.
//
// C1. A value is copied, never changed; unknown keys of typed objects are dropped, those of free JSON stay (P-014, P-017).
// C2. Of an object, first everything that must be there is looked for, then each value is read (P-011).
// C3. Null on an optional key is absence (P-013).
// C4. What recurses here has been measured before (`fits`).

import { StreamPartError, type StreamPartErrorCode } from './stream-part-error.ts';
import { isRecord, type PartJson } from './part-json.ts';

/** Where a value stands. */
export interface Place {
  readonly partType: string;
  readonly path: string;
}

export type Codec<T> = (value: unknown, at: Place) => T;

export function fault(code: StreamPartErrorCode, at: Place): StreamPartError {
  return new StreamPartError(code, at);
}

export function below({ partType, path }: Place, key: string | number): Place {
  if (typeof key === 'number') return { partType, path: `${path}[${key}]` };
  return { partType, path: path === '' ? key : `${path}.${key}` };
}

type Presence = 'required' | 'nullable' | 'optional' | 'always';

interface Field<T, P extends Presence> {
  readonly presence: P;
  readonly codec: Codec<T>;
}

/** One field for each key that the type has, of the kind that the key is. */
export type Fields<T> = {
  readonly [K in Exclude<keyof T, 'type'>]-?: T extends Record<K, unknown>
    ? Field<T[K], 'required' | 'nullable' | 'always'>
    : Field<Exclude<T[K], undefined>, 'optional'>;
};

export const need = <T>(codec: Codec<T>): Field<T, 'required'> => ({ presence: 'required', codec });
/** The key must be there; null is a value of it. */
export const needNullable = <T>(codec: Codec<T>): Field<T, 'nullable'> => ({ presence: 'nullable', codec });
export const may = <T>(codec: Codec<T>): Field<T, 'optional'> => ({ presence: 'optional', codec });
/** Absence and null are read, too: as undefined. */
export const always = <T>(codec: Codec<T>): Field<T, 'always'> => ({ presence: 'always', codec });

/** Keys come out in the order of the fields. */
export function shape<T>(fields: Fields<T>): Codec<Omit<T, 'type'>> {
  const entries: readonly [string, Field<unknown, Presence>][] = Object.entries(fields);
  return (value, at) => {
    if (!isRecord(value)) throw fault('bad_value', at);
    const absent = entries.find(([key, { presence }]) => isMissing(value[key], presence));
    if (absent !== undefined) throw fault('missing_key', below(at, absent[0]));
    const read: Record<string, unknown> = {};
    for (const [key, { presence, codec }] of entries) {
      const member = value[key] ?? undefined;
      if (presence === 'nullable') read[key] = codec(value[key], below(at, key));
      else if (presence !== 'optional' || member !== undefined) read[key] = codec(member, below(at, key));
    }
    // Contract: `Fields` has made sure that each key of the type was read by a codec of its own type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return read as Omit<T, 'type'>;
  };
}

function isMissing(value: unknown, presence: Presence): boolean {
  switch (presence) {
    case 'required':
      return value === undefined || value === null;
    case 'nullable':
      return value === undefined;
    case 'optional':
    case 'always':
      return false;
  }
}

export const text: Codec<string> = (value, at) => {
  if (typeof value !== 'string') throw fault('bad_value', at);
  return value;
};

export const flag: Codec<boolean> = (value, at) => {
  if (typeof value !== 'boolean') throw fault('bad_value', at);
  return value;
};

export const positiveInteger: Codec<number> = (value, at) => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) throw fault('bad_value', at);
  return value;
};

/** Rounded half up; undefined: absent, or a number that no count can be (P-017). Go reads none beyond its integers (P-020). */
export const count: Codec<number | undefined> = (value, at) => {
  if (value === undefined) return undefined;
  if (typeof value !== 'number') throw fault('bad_value', at);
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) + 0 : undefined; // No -0.
};

export const optionalText: Codec<string | undefined> = (value, at) =>
  value === undefined ? undefined : text(value, at);

export function oneOf<const T extends string>(words: Readonly<Record<string, T>>): Codec<T> {
  const known = Object.values(words);
  return (value, at) => {
    const word = known.find((each) => each === value);
    if (word === undefined) throw fault('bad_value', at);
    return word;
  };
}

/** A host value is refused: no JSON says `NaN`, a date, or a function. Members that are undefined are left out. */
export const json: Codec<PartJson> = (value, at) => {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      throw fault('bad_value', at);
    case 'object':
      if (value === null) return null;
      return Array.isArray(value) ? Array.from(value, (item: unknown) => json(item, at)) : jsonObject(value, at);
    case 'bigint':
    case 'symbol':
    case 'undefined':
    case 'function':
      throw fault('bad_value', at);
  }
};

export const jsonObject: Codec<Record<string, PartJson>> = (value, at) => {
  if (!isRecord(value) || Object.prototype.toString.call(value) !== '[object Object]') throw fault('bad_value', at);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  // Unlike assignments, entries make an own property of a key named `__proto__` (P-016).
  return Object.fromEntries(members.map(([key, member]) => [key, json(member, at)]));
};
