import { objectOf, wordOf } from './fields.ts';
import type { JsonValue } from '../../core/json.ts';

/** As a gate tells them; absent: none is named. */
export interface NamedPaths {
  readonly paths?: readonly string[];
}

/** The files that a call names, for rules by path (E-520). @param names  Of the fields of its input that hold one. */
export function namedPaths(input: JsonValue, names: readonly string[]): NamedPaths {
  const fields = objectOf(input);
  return pathsOf(names.map((name) => fields[name]));
}

export function pathsOf(values: readonly (JsonValue | undefined)[]): NamedPaths {
  const paths = [...new Set(values.flatMap((value) => wordOf(value) ?? []))];
  return paths.length === 0 ? {} : { paths };
}
