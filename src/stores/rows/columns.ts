// Readers of one column, for all stores of rows: what comes from a database is checked here once and trusted afterwards. A column of another kind is
// damage, and is reported as that.

import { DamageError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';

/** A row, or an object that was stored in a column of one. */
export type Fields = Readonly<Record<string, unknown>>;

export function text(row: Fields, name: string): string {
  const value = row[name];
  return typeof value === 'string' ? value : damaged(name);
}

export function integer(row: Fields, name: string): number {
  const value = row[name];
  return typeof value === 'number' ? value : damaged(name);
}

/** As SQLite has it, a number, or as PostgreSQL has it. */
export function flag(row: Fields, name: string): boolean {
  return typeof row[name] === 'boolean' ? truth(row, name) : integer(row, name) !== 0;
}

export function truth(row: Fields, name: string): boolean {
  const value = row[name];
  return typeof value === 'boolean' ? value : damaged(name);
}

export function nested(row: Fields, name: string): Fields {
  const value = row[name];
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? Object.fromEntries(Object.entries(value)) : damaged(name);
}

/** A column that may be NULL, read by `read` when it is not. */
export function nullable<R extends Fields, T>(row: R, name: string, read: (row: R, name: string) => T): T | null {
  return row[name] === null ? null : read(row, name);
}

export function oneOf<const T extends string>(row: Fields, name: string, allowed: readonly T[]): T {
  const value = text(row, name);
  return allowed.find((word) => word === value) ?? damaged(name);
}

/** An id, by the parser of its kind. */
export function id<T>(kind: { parse(text: string): T | undefined }): (row: Fields, name: string) => T {
  return (row, name) => kind.parse(text(row, name)) ?? damaged(name);
}

export function jsonObject(row: Fields, name: string): JsonObject {
  const value = parse(row, name);
  return isJsonObject(value) ? value : damaged(name);
}

/** JSON of a shape. */
export function shaped<T>(schema: { safeParse(value: unknown): { readonly data?: T | undefined } }) {
  return (row: Fields, name: string): T => schema.safeParse(parse(row, name)).data ?? damaged(name);
}

export function bytes(row: Fields, name: string): Uint8Array {
  const value = row[name];
  return value instanceof Uint8Array ? value : damaged(name);
}

export function strings(row: Fields, name: string): readonly string[] {
  const value = parse(row, name);
  if (!Array.isArray(value)) return damaged(name);
  return value.map((item) => (typeof item === 'string' ? item : damaged(name)));
}

function parse(row: Fields, name: string): JsonValue {
  try {
    return JSON.parse(text(row, name));
  } catch {
    return damaged(name);
  }
}

function damaged(name: string): never {
  throw new DamageError(`A stored record is damaged: '${name}' cannot be read.`);
}
