// The command line. Each verb is a file of its own and loaded only when it is called, so that none pays for another.

import { packageVersion } from '../version.ts';
import { ConfigurationError, ReinsError } from '../core/errors.ts';
import type { ExitCode } from './exit-code.ts';
import { createOutput } from './output.ts';
import { UsageError, type Terminal, type Verb } from './verb.ts';

interface VerbEntry {
  readonly summary: string;
  load(): Promise<Verb>;
}

const verbs: ReadonlyMap<string, VerbEntry> = new Map([
  ['serve', { summary: 'start the server', load: async () => (await import('./serve.ts')).serve }],
  [
    'worker',
    { summary: 'work on the tasks that Temporal starts', load: async () => (await import('./worker.ts')).worker },
  ],
  ['run', { summary: 'do one task in this folder', load: async () => (await import('./run.ts')).run }],
  [
    'sessions',
    {
      summary: 'list, show and delete sessions of a server',
      load: async () => (await import('./sessions.ts')).sessions,
    },
  ],
  ['files', { summary: 'list, download and upload files', load: async () => (await import('./files.ts')).files }],
  ['attach', { summary: 'show a task of a server live', load: async () => (await import('./attach.ts')).attach }],
  ['cancel', { summary: 'stop a task of a server', load: async () => (await import('./cancel.ts')).cancel }],
  [
    'export',
    {
      summary: 'write a task, a session or the whole data folder into a file',
      load: async () => (await import('./export.ts')).exportVerb,
    },
  ],
  ['import', { summary: 'take such a file in', load: async () => (await import('./import.ts')).importVerb }],
  [
    'doctor',
    {
      summary: 'tell what is installed and which models answer',
      load: async () => (await import('./doctor.ts')).doctor,
    },
  ],
  [
    'harnesses',
    {
      summary: 'tell which agents are here and what each can do',
      load: async () => (await import('./harnesses.ts')).harnesses,
    },
  ],
  ['keys', { summary: 'make, show and revoke API keys', load: async () => (await import('./keys.ts')).keys }],
]);

/** Does what the words after `reins` say, then ends the process with the exit code of it. */
export async function main(args: readonly string[]): Promise<void> {
  const terminal: Terminal = { out: createOutput(process.stdout), err: createOutput(process.stderr) };
  const code = await perform(args, terminal).catch((cause: unknown) => explain(cause, args, terminal));
  await terminal.out.flush();
  const { failure } = terminal.out;
  if (failure !== null) terminal.err.write(`reins: the output could not be written: ${failure.message}\n`);
  await terminal.err.flush();
  // Idle connections would keep the process for seconds; what matters is closed and what was said is out.
  process.exit(failure !== null && code === 0 ? 1 : code);
}

async function perform([word, ...rest]: readonly string[], terminal: Terminal): Promise<ExitCode> {
  if (word === 'help' && rest[0] !== undefined) return perform([rest[0], '--help'], terminal);
  if (word === undefined || word === '--help' || word === '-h' || word === 'help') {
    const wanted = word !== undefined;
    (wanted ? terminal.out : terminal.err).write(overview());
    return wanted ? 0 : 2;
  }
  if (word === '--version' || word === '-v') {
    terminal.out.write(`${packageVersion()}\n`);
    return 0;
  }
  const entry = verbs.get(word);
  if (entry === undefined) {
    const kind = word.startsWith('-') ? 'option' : 'verb';
    throw new UsageError(`there is no ${kind} '${word}'; verbs are ${[...verbs.keys()].join(', ')}.`);
  }
  const verb = await entry.load();
  if (!asksForHelp(rest)) return verb.run(rest, terminal);
  terminal.out.write(verb.usage);
  return 0;
}

/** What comes after `--` is text. */
function asksForHelp(args: readonly string[]): boolean {
  const options = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  return options.includes('--help') || options.includes('-h');
}

function explain(cause: unknown, [word = '']: readonly string[], { err }: Terminal): ExitCode {
  const verb = verbs.has(word) ? `${word} ` : '';
  if (cause instanceof UsageError) err.write(`reins: ${cause.message}\nSee: reins ${verb}--help\n`);
  else if (cause instanceof ReinsError) err.write(`reins: ${cause.message}\n`);
  else err.write(`reins: unforeseen: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}\n`);
  return cause instanceof UsageError || cause instanceof ConfigurationError ? 2 : 1;
}

function overview(): string {
  const width = Math.max(...[...verbs.keys()].map(({ length }) => length));
  const lines = [...verbs].map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Usage: reins VERB [options]\n\n${lines.join('\n')}\n\nreins VERB --help tells more; reins --version names the version.\n`;
}
