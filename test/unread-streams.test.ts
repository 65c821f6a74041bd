// Readers that never read, at the size that was reported: fifty of them, each of a task with ten thousand events of 800 bytes.

import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { connectTo, key } from './support/uhp.ts';
import { startProgram, temporaryFolder } from './reins-process.ts';

const [tasks, events] = [50, 10_000];
/** What stood in memory if anybody's events did: fifty times 8 MB. */
const boundMiB = 400;

test.skipIf(process.platform !== 'linux')(
  'B043, UT-33: fifty readers that never read 10,000 events each hold up no task and no other reader, are cut off, and each takes up the rest',
  { timeout: 60_000 },
  async () => {
    const { url, child } = await startFlood();
    const uhp = connectTo(url);
    const ids = await Promise.all(Array.from({ length: tasks }, () => startTask(url)));
    const unread = await Promise.all(ids.map((id) => openUnread(url, id)));
    const fast = await readFrom(url, ids[0] ?? '', -1);
    await until(async () => /^reins_tasks_running 0$/m.test(await metricsOf(url)));
    expect(fast.numbers).toEqual(fast.numbers.map((_, n) => n));
    expect(fast.numbers.length).toBeGreaterThan(events);
    expect(fast.text).toContain('"type":"response.completed"');
    // Nobody has taken a byte for a minute of the server's.
    await until(async () => !/^reins_open_streams\{.*\} [1-9]/m.test(await metricsOf(url)));
    expect(peakMiB(child.pid)).toBeLessThan(boundMiB);
    const taken = await Promise.all(
      ids.map(async (id, index) => {
        const before = (await unread[index]?.rest()) ?? [];
        const after = await readFrom(url, id, before.at(-1) ?? -1);
        expect([...before, ...after.numbers]).toEqual(fast.numbers);
        return before.length;
      }),
    );
    // No kernel's buffer was large enough for what nobody took.
    expect(Math.max(...taken)).toBeLessThan(events);
    expect((await uhp.get(ids.at(-1) ?? '')).body.status).toBe('completed');
  },
);

const peakMiB = (pid: number | undefined) =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024;

async function startFlood() {
  const program = `${import.meta.dirname}/fixtures/flood-server.ts`;
  const { child, saw } = startProgram(program, [temporaryFolder()], { env: { REINS_API_KEY: key } });
  const said = await saw('reins listening on');
  return { url: /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? '', child };
}

async function startTask(url: string): Promise<string> {
  const task = { input: String(events), background: true, metadata: { reins_events: true } };
  return (await connectTo(url).create(task)).body.id;
}

/** A connection on which a stream is asked for and, until `rest`, nothing is read. */
async function openUnread(url: string, id: string) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET /v1/responses/${id}?stream=true HTTP/1.0\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`);
  return {
    /** The numbers of the whole frames that were still under way. */
    async rest() {
      const got = await text(socket);
      return numbersIn(got.slice(0, got.lastIndexOf('\n\n') + 2));
    },
  };
}

async function readFrom(url: string, id: string, after: number) {
  const query = after < 0 ? '' : `&starting_after=${after}`;
  const answer = await fetch(`${url}/v1/responses/${id}?stream=true${query}`, { headers });
  const all = await answer.text();
  return { text: all.slice(-20_000), numbers: numbersIn(all) };
}

const headers = { authorization: `Bearer ${key}` };
const numbersIn = (frames: string) => [...frames.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number));
const metricsOf = async (url: string) => (await fetch(`${url}/metrics`, { headers })).text();

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 100));
}
