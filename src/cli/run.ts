import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig, type Config } from '../config.ts';
import { ConfigurationError, ModelUnavailableError } from '../core/errors.ts';
import { publicEvent } from '../core/public-event.ts';
import type { RunEvent } from '../core/run-event.ts';
import { createTextView } from '../views/text-view.ts';
import { createFailureNotes } from './failure-notes.ts';
import { exitCodeOf } from './exit-code.ts';
import { readPrompt } from './read-prompt.ts';
import { createPieceWriter } from './show-pieces.ts';
import { listenForStop } from './stop-signals.ts';
import { parseVerbArgs, UsageError, type Terminal, type Verb } from './verb.ts';

const usage = `Usage: reins run "PROMPT" [--harness B] [--model M] [--cwd DIR] [--json]
       … | reins run -

Does one task in a folder and shows it live; no server is needed, and nothing is kept but what it wrote in the folder.
Ctrl-C cancels the task, a second one ends it at once. A reader of stdout that leaves (… | head) cancels it, too.

  --harness B    the runtime that does it (setting harnesses.preferred, native)
  --model M      its model; demo needs no key
  --cwd DIR      the folder (this one)
  --json         one event of the run a line, as JSON
  --data DIR, --config FILE   as for reins serve

Exit code: 0 completed, 1 failed, 2 wrong use, 3 stopped by a budget, cut or refused, 4 waits for a person, 130 cancelled.
`;

const options = {
  harness: { type: 'string' },
  model: { type: 'string' },
  cwd: { type: 'string' },
  json: { type: 'boolean' },
  data: { type: 'string' },
  config: { type: 'string' },
} as const;

export const run: Verb = {
  usage,
  async run(args, terminal) {
    const { values, words } = parseVerbArgs(args, { options, words: 1 });
    const cwd = existingFolder(values.cwd ?? '.');
    // Nothing listens here, so a REINS_HOST meant for the server must not refuse the run.
    const config = loadConfig({ flags: { data: values.data, config: values.config, host: '127.0.0.1' } });
    const prompt = await readPrompt(words[0], process.stdin);
    const show = values.json === true ? jsonLines(terminal) : liveText(terminal);
    const [stop, { left }] = [listenForStop(), terminal.out];
    stop.addEventListener('abort', () => show.note('Cancelling; a second signal ends it at once.'), { once: true });
    left.addEventListener('abort', () => show.note('Nobody reads the output any more; cancelling.'), { once: true });
    const { openLocalAgent } = await import('../local-agent.ts');
    const { harness, model } = values;
    const named = { ...(harness === undefined ? {} : { harness }), ...(model === undefined ? {} : { model }) };
    const stopped = AbortSignal.any([stop, left]);
    const logger = createFailureNotes({ note: show.note, secrets: secretsOf(config), stop: stopped });
    await using agent = await openLocalAgent({ config, cwd, logger, ...named });
    const stream = agent.runStream(prompt, { signal: stopped });
    try {
      for await (const event of stream) show.event(event);
    } catch (cause) {
      throw cause instanceof ModelUnavailableError ? namedWrongly(cause) : cause;
    }
    show.end();
    return exitCodeOf(await stream.result());
  },
};

interface Display {
  readonly event: (event: RunEvent) => void;
  readonly note: (text: string) => void;
  readonly end: () => void;
}

function jsonLines({ out, err }: Terminal): Display {
  return {
    event: (event) => out.write(`${JSON.stringify(publicEvent(event))}\n`),
    note: (text) => err.write(`${text}\n`),
    end: () => undefined,
  };
}

function liveText(terminal: Terminal): Display {
  const view = createTextView();
  const writer = createPieceWriter(terminal);
  return {
    event(event) {
      // The answer starts over: on a line of its own, also where nobody sees the note that says so.
      if (event.type === 'attempt-reset') writer.end();
      for (const piece of view.push(event)) writer.write(piece);
    },
    note: writer.note,
    end: writer.end,
  };
}

const secretsOf = ({ models }: Config): readonly string[] =>
  Object.values(models.credentials).flatMap(({ apiKey }) => apiKey ?? []);

/** For a person a model that is not there is wrong use, as a harness is that is not there. */
const namedWrongly = (cause: ModelUnavailableError) =>
  new ConfigurationError(`${cause.message.replace(/\.$/, '')} (reins doctor tells more).`, { cause });

function existingFolder(path: string): string {
  const folder = resolve(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new UsageError(`--cwd: there is no folder ${folder}.`);
}
