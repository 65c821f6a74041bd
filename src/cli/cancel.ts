import { openRemote, remoteOptions, remoteUsage, told } from './remote.ts';
import { parseVerbArgs, UsageError, type Verb } from './verb.ts';

const usage = `Usage: reins cancel RESPONSE [--wait]
       reins cancel SESSION

Stops one task, or whatever runs in a session. A task that has ended stays as it is.

  --wait         until it is over
${remoteUsage}`;

const options = { ...remoteOptions, wait: { type: 'boolean' } } as const;

export const cancel: Verb = {
  usage,
  async run(args, { out }) {
    const { values, words } = parseVerbArgs(args, { options, words: 1 });
    const [id] = words;
    if (id === undefined) throw new UsageError('which task or session is to be stopped?');
    const client = openRemote(values);
    const stopped = id.startsWith('hsess')
      ? await told(client.sessions.cancel(id))
      : await told(client.responses.cancel(id));
    const end = values.wait === true && !id.startsWith('hsess') ? await told(client.responses.wait(id)) : stopped;
    out.write(values.json === true ? `${JSON.stringify(end, null, 2)}\n` : `${id}: ${end.status}\n`);
    return 0;
  },
};
