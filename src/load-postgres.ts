import { loadOptional } from './load-optional.ts';

/** @throws ConfigurationError  What it needs is not installed. */
export function loadPostgres() {
  return loadOptional(() => import('./stores/postgres/open-postgres.ts'), {
    what: 'A store on PostgreSQL',
    packages: ['pg'],
  });
}
