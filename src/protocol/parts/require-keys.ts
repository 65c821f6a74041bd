import { StreamPartError } from './stream-part-error.ts';

/**
 * @param nullable  Those of the names that may be null, but must be there.
 * @throws StreamPartError  `missing_key`, with the first name that is missing or null.
 */
// oxlint-disable-next-line max-params -- As its counterpart in the Go SDK.
export function requireKeys(
  type: string,
  fields: Readonly<Record<string, unknown>>,
  names: readonly string[],
  nullable: readonly string[] = [],
): void {
  const missing = names.find(
    (name) => fields[name] === undefined || (fields[name] === null && !nullable.includes(name)),
  );
  if (missing !== undefined) throw new StreamPartError('missing_key', { partType: type, path: missing });
}
