import { loadConfig, type Config } from '../config.ts';
import { parseVerbArgs, UsageError, type Verb } from './verb.ts';
import { open, readFile, stat } from 'node:fs/promises';
import { ReinsError } from '../core/errors.ts';

const usage = `Usage: reins import FILE [--principal P] [--data DIR] [--config FILE] [--json]

Keeps tasks that reins export wrote as stream parts, or that another SDK did, as they are: they are shown like any other, and
nothing of them is done again. The same file twice is kept once. A line that is no part refuses the file, and is named; so does
a file without any. They go into a data folder on which a server was started before.

Or puts a whole data folder back that reins export wrote, into one that is new or empty. Start the server on it after that. Keys
that were made before are valid there; reins keys create makes one where none is at hand.
With REINS_DATABASE_URL, pg_restore does that.

  --principal P  who sees the tasks (owner)
  --json         what was kept, as JSON
  --data DIR, --config FILE   as for reins serve
`;

const options = {
  principal: { type: 'string' },
  data: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const importVerb: Verb = {
  usage,
  async run(args, { out }) {
    const { values, words } = parseVerbArgs(args, { options, words: 1 });
    const [file] = words;
    if (file === undefined) throw new UsageError('which file?');
    const config = loadConfig({ flags: { data: values.data, config: values.config, host: '127.0.0.1' } });
    const { json, text } = (await isText(file))
      ? await importRuns(file, { config, principal: values.principal ?? 'owner' })
      : await importFolder(file, config);
    out.write(values.json === true ? `${JSON.stringify(json)}\n` : `${text}\n`);
    return 0;
  },
};

interface Answer {
  readonly json: object;
  readonly text: string;
}

/** Of a file of parts, which is read whole: about half of what a text can hold. */
const mostBytes = 268_435_456;

/** A zip begins with no brace, and with something; what is not there, or is no zip, is for who reads it to say. */
async function isText(file: string): Promise<boolean> {
  const handle = await open(file, 'r').catch(() => null);
  if (handle === null) return false;
  await using opened = handle;
  const { buffer, bytesRead } = await opened.read(Buffer.alloc(512), 0, 512, 0);
  return /^\uFEFF?\s*(?:\{|$)/.test(buffer.toString('utf8', 0, bytesRead));
}

async function importRuns(
  file: string,
  { config, principal }: { readonly config: Config; readonly principal: string },
): Promise<Answer> {
  const { openRunFiles } = await import('../run-files.ts');
  await using files = await openRunFiles(config);
  const refuse = (why: string, cause?: unknown) => new ReinsError(`${file} is not taken. ${why}`, { cause });
  if ((await stat(file)).size > mostBytes) throw refuse('It has more than 256 MiB: export its tasks one by one.');
  const kept = await files.keep(await readFile(file, 'utf8'), principal).catch((cause: unknown) => {
    throw cause instanceof ReinsError ? refuse(cause.message, cause) : cause;
  });
  const { runs, leftOut } = kept;
  const said = runs.map(({ runId, sessionId, isNew }) => `${runId} in ${sessionId}${isNew ? '' : ', there already'}`);
  const left = leftOut === 0 ? [] : [`${leftOut} parts say nothing that is kept here.`];
  return { json: { file, ...kept }, text: [...said, ...left].join('\n') };
}

async function importFolder(file: string, config: Config): Promise<Answer> {
  const { importData } = await import('../data-export.ts');
  const { dataDir } = config.server;
  const { files } = await importData(file, config);
  const put = `Put ${files} ${files === 1 ? 'file' : 'files'} back into ${dataDir}.`;
  // Only hashes of keys are in a backup.
  const keys = `Keys of before are valid; to make one: reins keys create --principal owner --scopes read,tasks,manage,admin --data ${dataDir}`;
  return { json: { file, dataDir, files }, text: `${put}\n${keys}` };
}
