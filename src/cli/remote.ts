// Where a command about a server finds it, and with which key: what is said, else the environment, else the server of the data
// folder on this machine.

import { connect, UhpError, type Client } from '../client/index.ts';
import { loadConfig, remoteSettings } from '../config.ts';
import { nearDataFolderHint } from '../near-data-folder.ts';
import { ConfigurationError, ReinsError } from '../core/errors.ts';
import { UsageError } from './verb.ts';

export const remoteOptions = {
  url: { type: 'string' },
  key: { type: 'string' },
  data: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const remoteUsage = `  --url URL      the server (REINS_URL); absent: the one that works on the data folder
  --key KEY      its key (REINS_API_KEY); absent: the one in the data folder
  --json         what the API answers
  --data DIR, --config FILE   as for reins serve
`;

export interface RemoteValues {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly data?: string | undefined;
  readonly config?: string | undefined;
}

/** @throws ReinsError  No server is known, or no key of it; a `UsageError` or `ConfigurationError`: its address is none. */
export function openRemote({ data, config, ...said }: RemoteValues): Client {
  const { dataDir } = loadConfig({ flags: { data, config, host: '127.0.0.1' } }).server;
  const known = remoteSettings(dataDir);
  const url = said.url ?? known.url;
  const key = said.key ?? known.key;
  if (url === null)
    throw new ReinsError(
      `No server works on the data folder ${dataDir}: start one with reins serve, or name one with --url.${nearDataFolderHint(dataDir)}`,
    );
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    const right = 'must be the address of a server, as http://127.0.0.1:4242.';
    throw said.url === undefined ? new ConfigurationError(`REINS_URL ${right}`) : new UsageError(`--url ${right}`);
  }
  if (key === null)
    throw new ReinsError(
      `There is no key: give one with --key or REINS_API_KEY; reins keys create makes one.${nearDataFolderHint(dataDir)}`,
    );
  return connect(url, key, { maxAttempts: 3 });
}

/** An answer that refuses, in the words of the server; one that never came, in ours. */
export async function told<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    if (cause instanceof UhpError) throw new ReinsError(cause.message, { cause });
    throw cause;
  });
}

/** Rows as columns that fit their widest entry. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Seconds since 1970 as people read them here. */
export function when(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(0, 16).replace('T', ' ');
}
