import { listenForStop } from './stop-signals.ts';
import { loadConfig, type Config, type ConfigFlags } from '../config.ts';
import type { Server } from '../server.ts';

export interface Running {
  readonly server: Server;
  readonly config: Config;
  /** Aborts at the first stop signal. */
  readonly stop: AbortSignal;
}

/** A server with these settings for as long as the work on it goes on; it is closed in order whatever becomes of that. */
export async function runServer(flags: ConfigFlags, work: (running: Running) => Promise<void>): Promise<0> {
  const config = loadConfig({ flags });
  const stop = listenForStop();
  const { createServer } = await import('../compose.ts');
  const server = await createServer(config);
  try {
    await work({ server, config, stop });
  } finally {
    await server.close();
  }
  return 0;
}
