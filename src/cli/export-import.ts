import { loadConfig } from '../config.ts';
import { parseVerbArgs, UsageError, type Verb } from './verb.ts';

const options = { data: { type: 'string' }, config: { type: 'string' }, json: { type: 'boolean' } } as const;

function verb(name: 'export' | 'import', about: string): Verb {
  return {
    usage: `Usage: reins ${name} FILE [--data DIR] [--config FILE] [--json]\n\n${about}\n`,
    async run(args, { out }) {
      const { values, words } = parseVerbArgs(args, { options, words: 1 });
      const [file] = words;
      if (file === undefined) throw new UsageError('which file?');
      const { dataDir } = loadConfig({ flags: { data: values.data, config: values.config, host: '127.0.0.1' } }).server;
      const { exportData, importData } = await import('../data-export.ts');
      const { files } = await (name === 'export' ? exportData(dataDir, file) : importData(file, dataDir));
      const done =
        name === 'export'
          ? `Wrote ${files} files of ${dataDir} to ${file}.`
          : `Put ${files} files back into ${dataDir}.`;
      out.write(values.json === true ? `${JSON.stringify({ file, dataDir, files })}\n` : `${done}\n`);
      return 0;
    },
  };
}

export const exportVerb = verb(
  'export',
  `Writes the whole data folder into one file, a zip, while servers work on it: conversations, files, keys' hashes, settings. Keep it
as safe as the folder. Tasks at work go on from where they were when it was made.`,
);
export const importVerb = verb(
  'import',
  'Puts such a file back into a data folder that is new or empty. Start the server on it after that.',
);
