import { join } from 'node:path';
import { runServer } from './run-server.ts';
import { ReinsError } from '../core/errors.ts';
import { aborted } from './stop-signals.ts';
import { parseVerbArgs, type Verb } from './verb.ts';
import type { Config } from '../config.ts';

const usage = `Usage: reins serve [--host H] [--port P] [--data DIR] [--config FILE]

Serves the protocol until a stop signal (Ctrl-C, or kill of the process named in server.pid in the data folder). With a
PostgreSQL it then says at /readyz that it goes, and takes tasks for limits.withdrawSeconds (5) more. Running tasks have
limits.drainSeconds (10) to end; the rest is kept and goes on at another server of the folder or the database, or at the
next start. A second signal ends it at once.

  --host H       address to listen on (REINS_HOST, 127.0.0.1); beyond loopback only with REINS_API_KEY
  --port P       port, 0 for any free one (REINS_PORT, 4242)
  --data DIR     folder of everything that is kept (REINS_DATA_DIR, ~/.reins)
  --config FILE  settings (REINS_CONFIG, config.json in the data folder)
`;

const options = {
  host: { type: 'string' },
  port: { type: 'string' },
  data: { type: 'string' },
  config: { type: 'string' },
} as const;

export const serve: Verb = {
  usage,
  async run(args, { out, err }) {
    const { values } = parseVerbArgs(args, { options, words: 0 });
    return runServer(values, async ({ server, config, stop }) => {
      const { url, firstKey, consoleUrl } = await server.listen().catch((cause: unknown) => {
        throw cannotListen(cause, config.server);
      });
      out.write(`reins listening on ${url}\nconsole: ${consoleUrl}\n${elsewhere(config)}`);
      if (firstKey !== null) out.write(introduceKey({ key: firstKey, url, dataDir: config.server.dataDir }));
      await aborted(stop);
      err.write(`reins: stopping${grace(config.limits)}; a second signal ends it at once.\n`);
    });
  },
};

/** What is not in the data folder, for who wonders whether his settings were read. */
function elsewhere({ store, files, temporal }: Config): string {
  const places = [
    ...(store.databaseUrl === null ? [] : ['tasks in PostgreSQL']),
    ...(files.url === null ? [] : ['files in a bucket']),
    ...(temporal.address === null ? [] : [`tasks of the engine worked on by reins worker, for ${temporal.address}`]),
  ];
  return places.length === 0 ? '' : `elsewhere: ${places.join('; ')}\n`;
}

function grace({ withdrawSeconds, drainSeconds }: Config['limits']): string {
  const leaving = withdrawSeconds === 0 ? '' : `, new tasks are taken for ${withdrawSeconds} s`;
  return drainSeconds === 0 ? leaving : `${leaving}, running tasks have ${drainSeconds} s to end`;
}

/** The address could not be taken: exit code 1. */
class ListenError extends ReinsError {}

const listenProblems: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use: stop the other program, or choose another port with --port',
  EACCES: 'may not be taken by this user: choose a port above 1023 with --port',
  EADDRNOTAVAIL: 'is no address of this machine: choose another with --host',
  ENOTFOUND: 'is no address of this machine: choose another with --host',
};

function cannotListen(cause: unknown, { host, port }: { readonly host: string; readonly port: number }): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const problem = listenProblems[code];
  return problem === undefined ? cause : new ListenError(`${host}:${port} ${problem}.`, { cause });
}

function introduceKey(o: { readonly key: string; readonly url: string; readonly dataDir: string }): string {
  return `
This is the first start, so a key was made. It is shown only now; a copy for this machine is in ${join(o.dataDir, 'key')}.

  ${o.key}

Try it:

  curl -N ${o.url}/v1/responses -H 'Authorization: Bearer ${o.key}' \\
    -H 'Content-Type: application/json' -d '{"input":"Count slowly from 1 to 20","stream":true}'

`;
}
