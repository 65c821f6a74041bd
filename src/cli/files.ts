import { basename } from 'node:path';
import { once } from 'node:events';
import { rename, rm, stat } from 'node:fs/promises';
import { openAsBlob, createWriteStream } from 'node:fs';
import { show } from './output.ts';
import { fileProblem } from './file-problem.ts';
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
      const text = rows.length === 0 ? 'There are no files.' : table(rows);
      return show(out, how.json ? JSON.stringify({ files: found }, null, 2) : text);
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
      const file = await client.files.upload(await openFile(first), { filename: basename(first) });
      return out.write(how.json ? `${JSON.stringify(file, null, 2)}\n` : `${file.id}\n`);
    }
    default:
      throw new UsageError(`there is no 'reins files ${word}'; there is list, get, archive and upload.`);
  }
}

async function save(body: ReadableStream<Uint8Array> | null, { output, terminal }: How): Promise<void> {
  const bytes = body === null ? Readable.from([]) : Readable.fromWeb(body);
  if (output !== undefined) return saveAs(output, bytes);
  for await (const chunk of bytes) terminal.out.write(chunk);
}

/** Under its name only once it is whole. */
async function saveAs(output: string, bytes: Readable): Promise<void> {
  const part = `${output}.part`;
  const target = createWriteStream(part);
  try {
    await once(target, 'open').catch((cause: unknown) => {
      throw new ReinsError(`${output} cannot be written: ${fileProblem(cause)}.`, { cause });
    });
    await pipeline(bytes, target);
    await rename(part, output);
  } catch (cause) {
    bytes.destroy();
    await rm(part, { force: true });
    throw cause;
  }
}

async function openFile(path: string): Promise<Blob> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new UsageError(`${path} cannot be read: ${fileProblem(cause)}.`);
  });
  if (!found.isFile()) throw new UsageError(`${path} is no file.`);
  return openAsBlob(path);
}
