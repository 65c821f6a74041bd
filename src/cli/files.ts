import { basename } from 'node:path';
import { openAsBlob, createWriteStream } from 'node:fs';
import { openRemote, remoteOptions, remoteUsage, table, told } from './remote.ts';
import { parseVerbArgs, UsageError, type Terminal, type Verb } from './verb.ts';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { ReinsError } from '../core/errors.ts';
import type { Client } from '../client/index.ts';

const usage = `Usage: reins files list SESSION
       reins files get SESSION NAME [-o FILE]
       reins files archive SESSION -o FILE
       reins files upload FILE

Lists what the tasks of a session made, downloads one of them or all as a zip, and uploads a file for a task to name.

  -o FILE        where to write it; absent: stdout
${remoteUsage}`;

const options = { ...remoteOptions, output: { type: 'string', short: 'o' } } as const;

export const files: Verb = {
  usage,
  async run(args, terminal) {
    const { values, words } = parseVerbArgs(args, { options, words: 3 });
    const { output, json = false } = values;
    await told(perform(openRemote(values), words, { terminal, output, json }));
    return 0;
  },
};

interface How {
  readonly terminal: Terminal;
  readonly output: string | undefined;
  readonly json: boolean;
}

async function perform(client: Client, [word, first, second]: readonly string[], how: How): Promise<void> {
  const { out } = how.terminal;
  if (word === undefined) throw new UsageError('what of files? There is list, get, archive and upload.');
  if (first === undefined) throw new UsageError(word === 'upload' ? 'which file?' : 'of which session?');
  switch (word) {
    case 'list': {
      const found = await client.sessions.files(first);
      const rows = found.map(({ filename, bytes, id }) => [filename, String(bytes), id]);
      return out.write(
        how.json
          ? `${JSON.stringify({ files: found }, null, 2)}\n`
          : `${rows.length === 0 ? 'There are no files.' : table(rows)}\n`,
      );
    }
    case 'get': {
      const file = (await client.sessions.files(first)).find(
        ({ filename, id }) => filename === second || id === second,
      );
      if (file?.container_id === undefined) throw new ReinsError(`There is no file '${second ?? ''}' in this session.`);
      const content = await client.files.content(file.container_id, file.id);
      return save(content.body, how);
    }
    case 'archive':
      if (how.output === undefined && out.isTerminal) throw new UsageError('a zip is no text: say -o FILE.');
      return save((await client.sessions.archive(first)).body, how);
    case 'upload': {
      const blob = await openAsBlob(first).catch(() => {
        throw new UsageError(`there is no file ${first}.`);
      });
      const file = await client.files.upload(blob, { filename: basename(first) });
      return out.write(how.json ? `${JSON.stringify(file, null, 2)}\n` : `${file.id}\n`);
    }
    default:
      throw new UsageError(`there is no 'reins files ${word}'; there is list, get, archive and upload.`);
  }
}

async function save(body: ReadableStream<Uint8Array> | null, { output, terminal }: How): Promise<void> {
  const bytes = body === null ? Readable.from([]) : Readable.fromWeb(body);
  if (output !== undefined) return pipeline(bytes, createWriteStream(output));
  for await (const chunk of bytes) terminal.out.write(chunk);
}
