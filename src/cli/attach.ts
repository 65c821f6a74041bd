import { createPieceWriter } from './show-pieces.ts';
import { listenForStop } from './stop-signals.ts';
import { openRemote, remoteOptions, remoteUsage, told } from './remote.ts';
import { parseVerbArgs, UsageError, type Terminal, type Verb } from './verb.ts';
import type { ExitCode } from './exit-code.ts';
import type { TaskEvent } from '../client/index.ts';

const usage = `Usage: reins attach RESPONSE

Shows a task of a server live, from its beginning; the answer goes to stdout, all else beside it. Ctrl-C leaves: the task goes on.

${remoteUsage}
Exit code: as of reins run.
`;

export const attach: Verb = {
  usage,
  async run(args, terminal) {
    const { values, words } = parseVerbArgs(args, { options: remoteOptions, words: 1 });
    const [id] = words;
    if (id === undefined) throw new UsageError('which task? Its id begins with resp_.');
    const client = openRemote(values);
    const [stop, { left }] = [listenForStop(), terminal.out];
    const signal = AbortSignal.any([stop, left]);
    const show = values.json === true ? jsonLines(terminal) : liveText(terminal);
    const task = client.attach(id, { signal });
    await told(
      (async () => {
        for await (const event of task) show.event(event);
      })(),
    );
    show.end();
    if (signal.aborted) {
      terminal.err.write(`Left; the task goes on. To stop it: reins cancel ${id}\n`);
      return 130;
    }
    return exitCodeOf((await told(task.result())).status);
  },
};

interface Display {
  event(event: TaskEvent): void;
  end(): void;
}

function jsonLines({ out }: Terminal): Display {
  return { event: (event) => out.write(`${JSON.stringify(event)}\n`), end: () => undefined };
}

function liveText(terminal: Terminal): Display {
  const writer = createPieceWriter(terminal);
  return {
    event(event) {
      if (event.type === 'response.output_text.delta') writer.write({ kind: 'text', text: event.delta });
      else if (event.type === 'response.output_item.done' && event.item.type === 'function_call')
        writer.write({ kind: 'tool', text: `${event.item.name} ${event.item.arguments.slice(0, 200)}` });
      else if (event.type === 'response.output_item.done' && event.item.type === 'message') writer.end();
      else if ('response' in event && event.response.status !== 'in_progress') {
        writer.end();
        const { status, error } = event.response;
        writer.write({ kind: 'note', text: error === null ? `${status}.` : `${status}: ${error.message}` });
      }
    },
    end: writer.end,
  };
}

function exitCodeOf(status: string): ExitCode {
  if (status === 'completed') return 0;
  if (status === 'incomplete') return 3;
  return status === 'cancelled' ? 130 : 1;
}
