import { ReinsError } from '../core/errors.ts';

/** What a middleware threw. Its own words are the log's: the sentence names its place alone (E-071). */
export class MiddlewareError extends ReinsError {
  constructor(place: string, cause: unknown) {
    super(`A middleware of this agent failed (${place}).`, { cause });
  }
}

/** An error of ours that a middleware throws on purpose keeps its name. */
export async function inMiddleware<V, T>(place: string, work: (value: V) => T | Promise<T>, value: V): Promise<T> {
  try {
    return await work(value);
  } catch (cause) {
    throw blame(place, cause);
  }
}

export function blame(place: string, cause: unknown): ReinsError {
  return cause instanceof ReinsError ? cause : new MiddlewareError(place, cause);
}
