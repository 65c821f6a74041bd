import { openRemote, remoteOptions, remoteUsage, told } from './remote.ts';
import { parseVerbArgs, UsageError, type Verb } from './verb.ts';
import type { Client } from '../client/index.ts';

const usage = `Usage: reins cancel RESPONSE [--no-wait]
       reins cancel SESSION [--no-wait]

Stops one task, or whatever runs in a session, and says how it ended: cancelled, once its processes are gone, which takes up to
10 s. A task that has ended stays as it is.

  --no-wait      say how it stands when the server has heard of it
${remoteUsage}`;

const options = { ...remoteOptions, 'no-wait': { type: 'boolean' } } as const;

export const cancel: Verb = {
  usage,
  async run(args, { out, err }) {
    const { values, words } = parseVerbArgs(args, { options, words: 1 });
    const [id] = words;
    if (id === undefined) throw new UsageError('which task or session is to be stopped?');
    const client = openRemote(values);
    const stop = id.startsWith('hsess') ? cancelSession : cancelTask;
    const { answer, left } = await told(stop(client, id, { waits: values['no-wait'] !== true }));
    if (left.length > 0) err.write(`Still running: ${left.join(', ')}.\n`);
    out.write(values.json === true ? `${JSON.stringify(answer, null, 2)}\n` : `${id}: ${answer.status}\n`);
    return 0;
  },
};

interface Stopped {
  /** As the API has it. */
  readonly answer: { readonly status: string };
  /** What could not be stopped. */
  readonly left: readonly string[];
}

interface StopOptions {
  readonly waits: boolean;
}

async function cancelTask(client: Client, id: string, { waits }: StopOptions): Promise<Stopped> {
  const first = await client.responses.cancel(id);
  const answer = waits && first.status === 'in_progress' ? (await client.responses.wait(id)).response : first;
  const { reins_unstopped: left } = answer.metadata;
  return { answer, left: Array.isArray(left) ? left.map(String) : [] };
}

async function cancelSession(client: Client, id: string, { waits }: StopOptions): Promise<Stopped> {
  const answer = await client.sessions.cancel(id);
  if (!waits || answer.status !== 'in_progress') return { answer, left: [] };
  const last = (await client.sessions.turns(id)).at(-1);
  if (last === undefined) return { answer, left: [] };
  const { answer: ended, left } = await cancelTask(client, last.id, { waits });
  return { answer: { ...answer, status: ended.status }, left };
}
