import { constants } from 'node:os';
import { fileTool, objectSchema } from './file-tool.ts';
import { head } from '../../core/text.ts';
import { keepEnds } from '../../process/keep-ends.ts';
import { ProcessStartError } from '../../process/start-process.ts';
import { ToolRefusal } from './tool-refusal.ts';
import type { ProcessEnd, ProcessResult } from '../../process/run-process.ts';
import type { Shell } from '../shell/shell.ts';
import type { Tool, ToolContext } from '../tool.ts';

const maxKeptBytes = 2 ** 20;
/** UTF-16 units of one call that are shown while it runs. */
const maxShownUnits = 64 * 1024;
const defaultTimeoutSeconds = 300;
const maxTimeoutSeconds = 3600;

/** The tool `bash` (table 9.6). What it changes is for others to find out: it reports no files. */
export function createBashTool(shell: Shell): Tool {
  return fileTool({
    name: 'bash',
    description: `Runs a command with bash in the working directory and gives its output. ${shell.guidance} stdin is empty; background processes are stopped when the command ends, and nothing but files is kept between calls.`,
    inputSchema: objectSchema(
      {
        command: { type: 'string', minLength: 1, description: 'The command, or a script of several lines.' },
        timeoutSeconds: {
          type: 'integer',
          minimum: 1,
          maximum: maxTimeoutSeconds,
          description: `After how long it is stopped. Default: ${defaultTimeoutSeconds}.`,
        },
      },
      ['command'],
    ),
    useKind: 'execute',
    replay: 'manual',
    concurrent: false,
    // The shell's own limit comes first: it knows what was printed until then.
    timeoutSeconds: maxTimeoutSeconds + 30,
    async run(input, context) {
      const command = input.text('command');
      const seconds = Math.min(input.optionalCount('timeoutSeconds') || defaultTimeoutSeconds, maxTimeoutSeconds);
      const kept = keepEnds(maxKeptBytes);
      const live = showFirst(context);
      const onOutput = (chunk: Uint8Array) => {
        kept.add(chunk);
        live.add(chunk);
      };
      const { workspace, directory, signal } = context;
      const run = shell.run(inDirectory(directory, command), {
        workspace,
        signal,
        timeoutMs: seconds * 1000,
        onOutput,
      });
      const result = await run.catch(refuseStart);
      live.end();
      const notes = [...endNotes(result.end, seconds), ...leftNotes(result)];
      const output = kept.text();
      const content = [...(output === '' ? [] : [output.replace(/\n$/, '')]), ...notes.map((note) => `[${note}]`)];
      return {
        content: content.join('\n') || '[No output.]',
        isError: result.end.how !== 'exited' || result.end.code !== 0,
        ...(result.unstopped.length === 0 ? {} : { unstopped: result.unstopped }),
      };
    },
  });
}

/** Entered by the command itself, in its confinement: no link on the way leads it out. */
function inDirectory(directory: string | undefined, command: string): string {
  if (directory === undefined) return command;
  const path = `'./${directory.replaceAll("'", "'\\''")}'`;
  return `mkdir -p ${path} && cd ${path} || exit 1\n${command}`;
}

function refuseStart(error: unknown): never {
  if (!(error instanceof ProcessStartError)) throw error;
  const isTooLong = error.fault === 'too-long';
  throw new ToolRefusal(isTooLong ? 'The command is too long; write it to a file and run that.' : error.message);
}

/** Output as it comes, until there is too much to show. */
function showFirst({ show }: Pick<ToolContext, 'show'>) {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let leftUnits = maxShownUnits;
  const showText = (text: string) => {
    const shown = head(text, leftUnits);
    if (shown !== '') show(shown);
    leftUnits -= text.length;
    if (leftUnits < 0) show('\n[More output is not shown while the command runs.]\n');
  };
  return {
    add(chunk: Uint8Array) {
      if (leftUnits >= 0) showText(decoder.decode(chunk, { stream: true }));
    },
    end() {
      if (leftUnits >= 0) showText(decoder.decode());
    },
  };
}

function endNotes(end: ProcessEnd, seconds: number): readonly string[] {
  switch (end.how) {
    case 'exited':
      return end.code === 0 ? [] : [`Exit code ${end.code}${signalOf(end.code)}.`];
    case 'signalled':
      return [`Ended by ${end.signal}.`];
    case 'timed-out':
      return [`Stopped at its time limit of ${seconds} s; it may have partly run.`];
    case 'cancelled':
      return ['Stopped on request; it may have partly run.'];
  }
}

/** A shell answers 128 + n for a command that a signal has ended. */
function signalOf(code: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128);
  return signal === undefined ? '' : `, which is how a shell tells ${signal[0]}`;
}

function leftNotes({ leftBehind, unstopped }: ProcessResult): readonly string[] {
  return [
    ...(leftBehind.length === 0 ? [] : [`Left running by the command and stopped: ${nameList(leftBehind)}.`]),
    ...(unstopped.length === 0 ? [] : [`Could not be stopped: ${nameList(unstopped)}.`]),
  ];
}

function nameList(names: readonly string[]): string {
  const shown = [...new Set(names)];
  return shown.length <= 10 ? shown.join(', ') : `${shown.slice(0, 10).join(', ')} and ${shown.length - 10} more`;
}
