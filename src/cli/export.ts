import { createWriteStream, rmSync } from 'node:fs';
import { fileProblem } from './file-problem.ts';
import { loadConfig, type Config } from '../config.ts';
import { once } from 'node:events';
import { parseVerbArgs, UsageError, type Terminal, type Verb } from './verb.ts';
import { pipeline } from 'node:stream/promises';
import { ReinsError } from '../core/errors.ts';
import { runIds, sessionIds } from '../core/ids.ts';

const usage = `Usage: reins export RESPONSE|SESSION [--out FILE] [--data DIR] [--config FILE]
       reins export FILE [--data DIR] [--config FILE] [--json]

Writes one task, or all tasks of a session, as stream parts, one a line: to the output, or to a file. Other SDKs read them, and
reins import makes the same tasks of them again, on this machine or another. Files that a task made are not in it.

Or writes the whole data folder into one file, a zip: conversations, files, keys' hashes, settings. Keep it as safe as the
folder. Tasks at work go on from where they were when it was made. With REINS_DATABASE_URL, pg_dump does that.

Servers may work on it meanwhile.

  --out FILE     a new file
  --json         what was written, as JSON
  --data DIR, --config FILE   as for reins serve
`;

const options = {
  out: { type: 'string' },
  data: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const exportVerb: Verb = {
  usage,
  async run(args, terminal) {
    const { values, words } = parseVerbArgs(args, { options, words: 1 });
    const [what] = words;
    if (what === undefined) throw new UsageError('which task or session, or to which file?');
    const config = loadConfig({ flags: { data: values.data, config: values.config, host: '127.0.0.1' } });
    if (!/[./\\]/.test(what) && (runIds.parse(what) ?? sessionIds.parse(what)) !== undefined) {
      await writeParts(terminal, { config, id: what, out: values.out });
      return 0;
    }
    if (values.out !== undefined) throw new UsageError(`--out goes with a task or a session, which '${what}' is not.`);
    const { exportData } = await import('../data-export.ts');
    const { dataDir } = config.server;
    const { files } = await exportData(config, what);
    const done = `Wrote ${files} ${files === 1 ? 'file' : 'files'} of ${dataDir} to ${what}.`;
    terminal.out.write(values.json === true ? `${JSON.stringify({ file: what, dataDir, files })}\n` : `${done}\n`);
    return 0;
  },
};

async function writeParts(
  { out, err }: Terminal,
  o: { readonly config: Config; readonly id: string; readonly out: string | undefined },
): Promise<void> {
  const { openRunFiles } = await import('../run-files.ts');
  await using files = await openRunFiles(o.config);
  if (o.out === undefined) {
    for await (const lines of files.write(o.id)) {
      if (out.left.aborted) return;
      out.write(lines);
      await out.flush();
    }
    return;
  }
  const lines = files.write(o.id);
  // Nothing is made where there is nothing to write.
  const first = await lines[Symbol.asyncIterator]().next();
  const file = createWriteStream(o.out, { flags: 'wx', mode: 0o600 });
  await once(file, 'open').catch((cause: unknown) => {
    throw new ReinsError(`${o.out} cannot be written: ${fileProblem(cause)}.`, { cause });
  });
  if (first.done !== true) file.write(first.value);
  await pipeline(lines, file).catch((cause: unknown) => {
    rmSync(o.out ?? '', { force: true });
    throw cause;
  });
  err.write(`Wrote ${o.id} to ${o.out}.\n`);
}
