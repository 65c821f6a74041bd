import { DamageError, RefusedEntryError, StorageError } from '../../core/errors.ts';

/** What the database, or the way to it, said to one statement. */
export class StatementFailure extends Error {
  readonly kind: 'refused' | 'try-again' | 'connection-lost';
  readonly code: string | null;

  constructor(cause: unknown) {
    super('A statement failed.', { cause });
    this.code = sqlStateOf(cause);
    this.kind = kindOf(this.code);
  }
}

/** What comes out of the store of a failure, whatever it was. */
export function storageError(cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const reason = cause instanceof StatementFailure ? cause.cause : cause;
  const code = cause instanceof StatementFailure ? (cause.code ?? '') : '';
  const Kind = corrupt.has(code) ? DamageError : ofValues.test(code) ? RefusedEntryError : StorageError;
  return new Kind('The store could not read or write.', { cause: reason });
}

/** Pages of a table, or of an index. */
const corrupt = new Set(['XX001', 'XX002']);

/** It is about what was to be written: values that no column holds, or that contradict what is there, or are too large. */
const ofValues = /^(?:22|23|54)/;

/** Null: it did not come from the database but from the connection to it. */
function sqlStateOf(cause: unknown): string | null {
  const isAnswer = cause instanceof Error && 'severity' in cause && 'code' in cause;
  return isAnswer && typeof cause.code === 'string' ? cause.code : null;
}

/**
 * A transaction is over, and may be tried again: serialization, deadlock, a lock not had in time, a statement that took too long
 * this time, too many connections.
 */
const tryAgain = new Set(['40001', '40P01', '55P03', '57014', '53300']);
/** So is its connection: shut down, crashed, still starting, idle for too long, to what was the primary until now. */
const lost = /^(?:08|57P0[1-5]$|25P03$|25006$)/;

function kindOf(code: string | null): StatementFailure['kind'] {
  if (code === null || lost.test(code)) return 'connection-lost';
  return tryAgain.has(code) ? 'try-again' : 'refused';
}

export const isLost = (cause: unknown) => cause instanceof StatementFailure && cause.kind === 'connection-lost';
