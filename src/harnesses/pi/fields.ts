import type { JsonValue } from '../../core/json.ts';

/** A field that ought to be a text; empty where it is none. */
export const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

/** A field that ought to be a number; 0 where it is none. */
export const countOf = (value: JsonValue | undefined): number => (typeof value === 'number' ? value : 0);
