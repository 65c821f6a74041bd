// The program behind a harness is replaced, by an upgrade or a reload, in the middle of a turn.

import { answerOf } from './support/event-stream.ts';
import { connectTo, ended, finalOf, until, whole } from './support/uhp.ts';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { eventually } from './support/asking-server.ts';
import { piece, turnHarness, turnSettings } from './support/turn-harness.ts';
import { spawn } from 'node:child_process';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import type { HarnessAdapter } from '../src/harnesses/harness.ts';

/** Says its number and some words, then works until it goes; asked for more than `hold`, it ends its turn. */
const program = `
process.on('SIGTERM', () => process.exit(0));
console.log(process.pid);
console.log('so far');
if (process.argv[1] === 'hold') setInterval(() => {}, 1000);
else console.log('result');
`;

/** A harness that is a program of its own for each turn, as others' are. */
function programHarness(): { readonly adapter: HarnessAdapter; readonly pids: number[] } {
  const pids: number[] = [];
  const adapter = turnHarness(async function* ({ input, signal }) {
    const child = spawn(process.execPath, ['-e', program, input], { stdio: ['ignore', 'pipe', 'ignore'] });
    const stop = () => child.kill('SIGKILL');
    signal.addEventListener('abort', stop);
    try {
      for await (const line of createInterface({ input: child.stdout })) {
        if (line === 'result') return;
        if (/^\d+$/.test(line)) pids.push(Number(line));
        else yield [piece(0, line)];
      }
      throw new Error('The program has gone without a result.');
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
  });
  return { adapter, pids };
}

function isThere(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'B111: the program goes by %s under a turn: failed with what it had said, the session free, nothing left working',
  async (by) => {
    const { adapter, pids } = programHarness();
    await using server = await startServer({ data: temporaryFolder(), settings: turnSettings, adapters: [adapter] });
    const { uhp } = server;
    const stream = await uhp.stream({ input: 'hold' });
    const frames: Awaited<ReturnType<typeof whole>>[number][] = [];
    for await (const frame of stream.frames) {
      frames.push(frame);
      if (frame.event.delta === 'so far') process.kill(pids[0] ?? expect.fail(), by);
    }
    const final = finalOf(frames);
    expect([final.status, final.error?.code, answerOf(final)]).toEqual(['failed', 'harness_error', 'so far']);
    expect((await uhp.get(final.id)).body).toEqual(final);
    const session = final.metadata.session_id;
    expect((await uhp.send('GET', `/v1/sessions/${session}`)).body.status).toBe('failed');
    expect(isThere(pids[0])).toBe(false);
    // The next turn gets the new program.
    const next = await uhp.create({ input: 'go', previous_response_id: final.id });
    expect([next.body.status, answerOf(next.body)]).toEqual(['completed', 'so far']);
    expect(new Set(pids).size).toBe(2);
  },
);

test('B111: the server itself is replaced under a turn of a harness that cannot go on: the same, and readers hear of it', async () => {
  const [data, settings] = [temporaryFolder(), turnSettings];
  const old = programHarness();
  const first = await startServer({ data, settings, adapters: [old.adapter] });
  const seen = await until(await first.uhp.stream({ input: 'hold' }), ({ event }) => event.delta === 'so far');
  const id = seen[0]?.event.response?.id ?? '';
  await first[Symbol.asyncDispose]();
  await eventually(() => !isThere(old.pids[0]) || undefined);

  const fresh = programHarness();
  await using second = await startServer({ data, settings, adapters: [fresh.adapter] });
  const { uhp } = second;
  const rest = await whole(uhp.attach(id, { after: seen.length - 1 }));
  expect(rest[0]?.id).toBe(seen.length);
  const final = finalOf(rest);
  expect([final.status, final.error?.code, answerOf(final)]).toEqual(['failed', 'reins_interrupted', 'so far']);
  const session = final.metadata.session_id;
  expect((await uhp.send('GET', `/v1/sessions/${session}`)).body.status).toBe('failed');
  const next = await uhp.create({ input: 'go', previous_response_id: id });
  expect(next.body.status).toBe('completed');
  expect(fresh.pids).toHaveLength(1);
});

test('B111, UD-35: a harness that is changed and deleted under a turn takes nothing from it', async () => {
  const { adapter, pids } = programHarness();
  await using server = await startServer({ data: temporaryFolder(), settings: turnSettings, adapters: [adapter] });
  const uhp = connectTo(server.url);
  const made = await uhp.send('POST', '/v1/harnesses', { body: { base: 'turns', name: 'mine' } });
  const harness = made.body.id;
  const task = await uhp.create({ input: 'hold', background: true, metadata: { harness_id: harness } });
  await eventually(() => isThere(pids[0]) || undefined);
  expect((await uhp.send('PUT', `/v1/harnesses/${harness}`, { body: { name: 'other' } })).status).toBe(200);
  expect((await uhp.send('DELETE', `/v1/harnesses/${harness}`)).status).toBe(200);
  expect(isThere(pids[0])).toBe(true);
  expect((await uhp.get(task.body.id)).body.status).toBe('in_progress');
  expect((await uhp.cancel(task.body.id)).status).toBe(200);
  expect((await ended(uhp, task.body.id)).status).toBe('cancelled');
  await eventually(() => !isThere(pids[0]) || undefined);
});
