import { show } from './output.ts';
import { openRemote, remoteOptions, remoteUsage, table, told, when } from './remote.ts';
import { parseVerbArgs, UsageError, type Verb } from './verb.ts';
import type { Client } from '../client/index.ts';

const usage = `Usage: reins sessions [list] [--harness H] [--limit N]
       reins sessions show ID
       reins sessions delete ID

Lists the sessions of a server, newest first; shows what was asked and answered in one; deletes one with all it holds.

  --harness H    only those of this harness
  --limit N      at most so many (20)
${remoteUsage}`;

const options = { ...remoteOptions, harness: { type: 'string' }, limit: { type: 'string' } } as const;

export const sessions: Verb = {
  usage,
  async run(args, { out }) {
    const { values, words } = parseVerbArgs(args, { options, words: 2 });
    const [word = 'list', id] = words;
    const client = openRemote(values);
    const answer = await told(perform(client, { word, id, harness: values.harness, limit: limitOf(values.limit) }));
    show(out, values.json === true ? JSON.stringify(answer.json, null, 2) : answer.text);
    return 0;
  },
};

interface Request {
  readonly word: string;
  readonly id: string | undefined;
  readonly harness: string | undefined;
  readonly limit: number;
}

async function perform(
  client: Client,
  { word, id, harness, limit }: Request,
): Promise<{ json: unknown; text: string }> {
  switch (word) {
    case 'list': {
      const page = await client.sessions.list({ limit, ...(harness === undefined ? {} : { harness }) });
      const rows = page.sessions.map((session) => [
        session.id,
        session.status,
        when(session.updated_at),
        session.title.slice(0, 40),
      ]);
      return { json: page, text: rows.length === 0 ? 'There are no sessions.' : table(rows) };
    }
    case 'show': {
      const turns = await client.sessions.turns(named(id));
      const texts = turns.map(({ user, assistant, status }) => `> ${user ?? ''}\n\n${assistant ?? ''}\n(${status})`);
      return { json: { turns }, text: texts.join('\n\n') || 'Nothing of it can be read.' };
    }
    case 'delete': {
      const json = await client.sessions.delete(named(id));
      return { json, text: `Deleted ${named(id)} with all it held.` };
    }
    default:
      throw new UsageError(`there is no 'reins sessions ${word}'; there is list, show and delete.`);
  }
}

function named(id: string | undefined): string {
  if (id === undefined) throw new UsageError('which session? reins sessions lists them.');
  return id;
}

function limitOf(text = '20'): number {
  if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= 100) return Number(text);
  throw new UsageError('--limit must be a whole number from 1 to 100.');
}
