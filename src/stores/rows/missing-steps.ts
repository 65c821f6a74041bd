import { createHash } from 'node:crypto';
import { SchemaError } from '../../core/errors.ts';
import { integer, text, type Fields } from './columns.ts';

export interface SchemaStep {
  readonly version: number;
  readonly sql: string;
  readonly checksum: string;
}

/**
 * The steps of a schema that a database does not have yet.
 * @param applied  Version and checksum of those that it has, by version.
 * @throws SchemaError  It was written by a newer Reins, or by one whose step was another (E-804).
 */
export function missingSteps(applied: readonly Fields[], steps: readonly string[]): readonly SchemaStep[] {
  if (applied.length > steps.length) throw new SchemaError('This database was written by a newer Reins.');
  const known = steps.map((sql, index) => {
    return { version: index + 1, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  });
  for (const [index, row] of applied.entries()) {
    const isSame = integer(row, 'version') === index + 1 && text(row, 'checksum') === known[index]?.checksum;
    if (!isSame) throw new SchemaError(`Step ${index + 1} of this database's schema is not the one that Reins knows.`);
  }
  return known.slice(applied.length);
}
