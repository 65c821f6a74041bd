import * as z from 'zod';
import { parseBody } from './parse-body.ts';

export const newKey = z.looseObject({
  principal: z
    .string('must be a name')
    .regex(/^[^\p{Cc}\s]{1,100}$/u, 'must be a name of 1 to 100 characters without spaces'),
  scopes: z.array(z.string('must be a scope'), 'must be a list of scopes').nullish(),
  name: z.string('must be a string').max(200, 'may have at most 200 characters').nullish(),
});

export interface NewKey {
  readonly principal: string;
  /** Null: the usual ones. */
  readonly scopes: readonly string[] | null;
  readonly name: string | null;
}

/** @throws InvalidInputError */
export function parseNewKey(body: unknown): NewKey {
  const { principal, scopes = null, name = null } = parseBody(newKey, body);
  return { principal, scopes, name };
}

export type UhpKey = {
  readonly id: string;
  readonly object: 'reins.key';
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly name: string | null;
  /** Unix seconds. */
  readonly created_at: number;
  /** Shown once, by the answer that made it. */
  readonly key?: string;
};

export interface KeyFacts {
  readonly keyId: string;
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly name: string | null;
  readonly createdAtMs: number;
}

export function toUhpKey({ keyId, principal, scopes, name, createdAtMs }: KeyFacts): UhpKey {
  return { id: keyId, object: 'reins.key', principal, scopes, name, created_at: Math.floor(createdAtMs / 1_000) };
}
