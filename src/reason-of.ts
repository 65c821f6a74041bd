/** What an error of a connection says, for the operator, without the last stop. */
export function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // Of several addresses that were tried the error has no text of its own.
  const each = cause instanceof AggregateError ? cause.errors.map(reasonOf).join(', ') : '';
  return (cause.message || each || cause.name).replace(/\.$/, '');
}
