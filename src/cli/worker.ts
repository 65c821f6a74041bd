import { aborted } from './stop-signals.ts';
import { runServer } from './run-server.ts';
import { parseVerbArgs, type Verb } from './verb.ts';

const usage = `Usage: reins worker [--data DIR] [--config FILE]

Works on the tasks that the Temporal at temporal.address (REINS_TEMPORAL_ADDRESS) starts for the servers of the same
database, until a stop signal. Then the steps at work have limits.drainSeconds (10) to end; the rest goes to other workers.
A second signal ends it at once.

  --data DIR     folder of everything that is kept (REINS_DATA_DIR, ~/.reins)
  --config FILE  settings (REINS_CONFIG, config.json in the data folder)
`;

const options = { data: { type: 'string' }, config: { type: 'string' } } as const;

export const worker: Verb = {
  usage,
  async run(args, { out, err }) {
    const { values } = parseVerbArgs(args, { options, words: 0 });
    return runServer(values, async ({ server, config, stop }) => {
      const { address, namespace, taskQueue } = config.temporal;
      const database = config.store.databaseUrl === null ? `SQLite in ${config.server.dataDir}` : 'PostgreSQL';
      const working = server.work().then(() => {
        if (!stop.aborted)
          out.write(
            `reins works for Temporal at ${address}, namespace ${namespace}, queue ${taskQueue}, over ${database}\n`,
          );
      });
      await Promise.race([working, aborted(stop)]);
      await aborted(stop);
      err.write('reins: stopping; a second signal ends it at once.\n');
    });
  },
};
