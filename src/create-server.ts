import type { Config } from './config.ts';
import type { Parts } from './compose.ts';
import type { Server } from './server.ts';

/**
 * A server inside a program. Its parts are loaded here and not before: a program that only runs agents has no use for an
 * HTTP stack.
 * @throws ConfigurationError  A setting that cannot work, or a data folder that is broken.
 */
export async function createServer(config: Config, parts?: Parts): Promise<Server> {
  const compose = await import('./compose.ts');
  return compose.createServer(config, parts);
}
