import { ConfigurationError } from './core/errors.ts';

/** An optional part, loaded where it is asked for. @throws ConfigurationError  What it needs is not installed. */
export function loadPostgres() {
  return import('./stores/postgres/open-postgres.ts').catch((cause: unknown) => {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND')) throw cause;
    throw new ConfigurationError('A store on PostgreSQL needs the package pg, and it is not there: npm install pg.', {
      cause,
    });
  });
}
