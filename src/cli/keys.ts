import { InvalidInputError } from '../core/errors.ts';
import { loadConfig, type Config } from '../config.ts';
import { show } from './output.ts';
import { nearDataFolderHint } from '../near-data-folder.ts';
import { parseVerbArgs, UsageError, type Terminal, type Verb } from './verb.ts';
import type { DataKeys } from '../data-keys.ts';

const usage = `Usage: reins keys create --principal P [--scopes S,…] [--name N] [--json]
       reins keys list [--json]
       reins keys revoke ID [--json]

Makes, shows and revokes the keys of a data folder, whether a server works on it or not. A new key is shown once; only its hash
is kept. A revoked one fails from the next request on. The key of REINS_API_KEY is not among them. The server of npm start has
the data folder .reins of its repository.

  --principal P  whose key it is: what a principal makes is seen by its keys alone
  --scopes S,…   what it may do: read, tasks, manage, admin; the first three where none is named
  --name N       for people
  --json         what the API answers
  --data DIR     the data folder (REINS_DATA_DIR, ~/.reins)
  --config FILE  settings (REINS_CONFIG, config.json in the data folder)
`;

const options = {
  principal: { type: 'string' },
  scopes: { type: 'string' },
  name: { type: 'string' },
  json: { type: 'boolean' },
  data: { type: 'string' },
  config: { type: 'string' },
} as const;

type Values = ReturnType<typeof parse>['values'];
const parse = (args: readonly string[]) => parseVerbArgs(args, { options, words: 2 });

export const keys: Verb = {
  usage,
  async run(args, terminal) {
    const { values, words } = parse(args);
    const work = workOf(words, values);
    const config = loadConfig({ flags: { data: values.data, config: values.config, host: '127.0.0.1' } });
    const place = placeOf(config, values);
    const { openDataKeys } = await import('../data-keys.ts');
    await using opened = await openDataKeys(config);
    const answer = await work(opened, place).catch((cause: unknown) => {
      throw cause instanceof InvalidInputError ? new UsageError(cause.message, { cause }) : cause;
    });
    say(terminal, values.json === true ? { ...answer, text: JSON.stringify(answer.json, null, 2) } : answer);
    return 0;
  },
};

interface Answer {
  readonly json: object;
  readonly text: string;
  /** What is said beside it. */
  readonly note?: string;
}

/** Where a key is kept, for people. */
interface Place {
  readonly name: string;
  /** Empty, or what to say if another folder was meant. */
  readonly hint: string;
}

function placeOf({ server: { dataDir }, store }: Config, { data }: Values): Place {
  if (store.databaseUrl !== null) return { name: 'the database of REINS_DATABASE_URL', hint: '' };
  return { name: `the data folder ${dataDir}`, hint: data === undefined ? nearDataFolderHint(dataDir) : '' };
}

/** What the words ask for; judged whole before anything is opened. */
function workOf(
  [word, id, ...rest]: readonly string[],
  values: Values,
): (keys: DataKeys, place: Place) => Promise<Answer> {
  refuseStrayOptions(word, values);
  if (word === 'revoke') {
    if (id === undefined) throw new UsageError('which key is to be revoked? reins keys list names them.');
    return async (opened) => {
      await opened.revoke(id);
      return { json: { id, deleted: true }, text: `Revoked ${id}.` };
    };
  }
  if (id !== undefined || rest.length > 0) throw new UsageError(`'${id}' is one word too many.`);
  if (word === 'list') return list;
  if (word === 'create') {
    const { principal } = values;
    if (principal === undefined) throw new UsageError('--principal is missing: whose key is it?');
    return (opened, place) => create(opened, { ...values, principal }, place);
  }
  throw new UsageError(
    `${word === undefined ? 'a word is missing' : `there is no '${word}'`}: create, list or revoke.`,
  );
}

function refuseStrayOptions(word: string | undefined, values: Values): void {
  const stray = (['principal', 'scopes', 'name'] as const).find((name) => values[name] !== undefined);
  if (stray !== undefined && word !== 'create') throw new UsageError(`--${stray} goes with create alone.`);
}

async function create(
  opened: DataKeys,
  o: Values & { readonly principal: string },
  { name, hint }: Place,
): Promise<Answer> {
  const scopes = o.scopes === undefined ? null : o.scopes.split(',').map((scope) => scope.trim());
  const made = await opened.create({ principal: o.principal, scopes, name: o.name ?? null });
  const may = `A key of ${made.principal} (${made.id}), which may: ${made.scopes.join(', ')}.`;
  const note = `${may} It is in ${name}, and is not shown again.${hint}\n`;
  return { json: made, text: made.key ?? '', note };
}

async function list(opened: DataKeys): Promise<Answer> {
  const all = await opened.list();
  const width = Math.max(0, ...all.map(({ principal }) => principal.length));
  const lines = all.map(({ id, principal, scopes, name, created_at }) => {
    const made = new Date(created_at * 1_000).toISOString().slice(0, 10);
    return `${id}  ${principal.padEnd(width)}  ${made}  ${scopes.join(',')}${name === null ? '' : `  ${name}`}`;
  });
  return { json: { keys: all }, text: lines.join('\n') };
}

function say({ out, err }: Terminal, { text, note }: Answer): void {
  if (text !== '') show(out, text);
  if (note !== undefined) err.write(note);
}
