// A disk that is full for a while: what the system then answers to every write, by a limit on the size of the server's files.

import { expect, test } from 'vitest';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { answerOf, assembleOutput, isDelta } from './support/event-stream.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { ended, finalOf, until, whole } from './support/uhp.ts';
import { shareFolder } from './support/shared-folder.ts';
import type { ServerProcess } from './support/server.ts';

const prlimit = '/usr/bin/prlimit';

/** No file of the process may have more bytes than that. */
function limitFiles({ process }: ServerProcess, bytes: number | 'unlimited'): void {
  execFileSync(prlimit, [`--pid=${process.child.pid}`, `--fsize=${bytes}:`]);
}

test.skipIf(!existsSync(prlimit)).concurrent.each([
  ['shorter than its owner waits', 2_000],
  ['longer than its owner waits', 12_000],
])(
  'B128, E-143: full for %s: nothing is claimed that is not stored, and all goes on when there is room',
  async (_, fullMs) => {
    const folder = await shareFolder();
    const server = await folder.start();
    const { uhp } = server;
    const before = (await uhp.create({ input: 'before' })).body;
    const seen = await until(await uhp.stream({ input: 'held' }), isDelta);
    const id = seen[0]?.event.response?.id ?? '';
    const following = whole(uhp.attach(id, { after: seen.length - 1 }));
    limitFiles(server, 4_096);
    folder.gate.open();
    // Whoever asks for more is told at once; what was said stands, and can be read.
    const refused = await uhp.create({ input: 'new' });
    expect(refused).toMatchObject({ status: 500, body: { error: { type: 'server_error' } } });
    await pause(fullMs);
    expect((await uhp.get(id)).body).toMatchObject({ status: 'in_progress' });
    expect((await uhp.get(before.id)).body).toEqual(before);
    expect(folder.model.asked('new')).toEqual([]);
    limitFiles(server, 'unlimited');
    const final = await ended(uhp, id);
    expect([final.status, answerOf(final)]).toEqual(['completed', 'first second']);
    const frames = [...seen, ...(await following)];
    expect(frames.map((frame) => frame.id)).toEqual([...frames.keys()]);
    expect(finalOf(frames)).toEqual(final);
    expect(assembleOutput(frames)).toEqual(final.output);
    expect(checkLog(await folder.logOf(id))).toEqual([]);
    expect((await uhp.create({ input: 'after', previous_response_id: id })).body).toMatchObject({
      status: 'completed',
    });
  },
);
