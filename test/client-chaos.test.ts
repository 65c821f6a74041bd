// The client against a real server, over a network that loses, delays, cuts up and repeats, while the server is restarted now and
// then. Whatever happens, each task is executed once, and its reader ends with what the server has stored.
//
// `REINS_CHAOS_TASKS` sets the number of tasks, `REINS_CHAOS_SEED` repeats a run.

import { expect, test } from 'vitest';
import { setTimeout as pause } from 'node:timers/promises';
import { call, reply, startModel, text, type Replies } from './support/model.ts';
import { connect, type Client, type Task, type TaskEvent } from '../src/client/index.ts';
import { countRows } from './support/rows.ts';
import { key } from './support/uhp.ts';
import { seededRandom, type SeededRandom } from './support/seeded-random.ts';
import { startChaos } from './support/chaos-proxy.ts';
import { startServer, type TestServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

const tasks = Number(process.env['REINS_CHAOS_TASKS'] ?? '1000');
const seed = Number(process.env['REINS_CHAOS_SEED'] ?? String(Date.now() % 1_000_000));
const atOnce = 50;
const restarts = 4;

const words = ['one ', 'zwölf ', '三 ', '😀 ', 'a longer piece of text, with "quotes"\n', '\u2028 '];

/** What task `n` says, in how many pieces, and whether it uses a tool on its way. */
function scriptOf(n: number): { readonly said: string; readonly replies: Replies[string] } {
  const random = seededRandom(n);
  const pieces = Array.from({ length: 1 + random.below(30) }, () => random.pick(words));
  const answer = reply(text(`${n}: `, ...pieces));
  const said = `${n}: ${pieces.join('')}`;
  if (random.below(3) > 0) return { said, replies: [answer] };
  const look = reply({ kind: 'thinking', chunks: ['Let me ', 'see.'] }, text('I look. '), call('c', 'list_files', {}));
  return { said: `I look. ${said}`, replies: [look, answer] };
}

/** Ways of reading; each ends with the numbers of the events that were seen. */
const ways: readonly ((client: Client, task: Task, random: SeededRandom) => Promise<readonly TaskEvent[]>)[] = [
  async (_, task) => collect(task),
  async (_, task, random) => {
    const seen: TaskEvent[] = [];
    for (let ended = false; !ended;) {
      ended = true;
      for await (const event of task) {
        seen.push(event);
        if (random.below(10) === 0) {
          ended = false;
          break;
        }
      }
    }
    return seen;
  },
  async (client, task, random) => {
    const seen: TaskEvent[] = [];
    for await (const event of task) if (seen.push(event) > random.below(20)) break;
    const second = client.attach(await task.responseId, { from: task.snapshot() });
    seen.push(...(await collect(second)));
    expect(second.snapshot().output).toEqual((await second.result()).response.output);
    return seen;
  },
];

async function collect(events: AsyncIterable<TaskEvent>): Promise<readonly TaskEvent[]> {
  const seen: TaskEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

test(`${tasks} tasks over a bad network, with restarts (REINS_CHAOS_SEED=${seed})`, { timeout: 600_000 }, async () => {
  const data = temporaryFolder();
  await using model = await startModel((asked) => scriptOf(Number(/\d+/.exec(asked)?.[0])).replies);
  await using proxy = await startChaos(seededRandom(seed));
  const start = () => startServer({ data, env: model.env, settings: model.settings });
  let server = await start();
  proxy.upstream = portOf(server);
  const client = connect(proxy.url, key, { backoffMs: 5, maxBackoffMs: 200, maxAttempts: 100, inactivityMs: 5_000 });

  let next = 0;
  const ids = new Map<number, string>();
  const work = async () => {
    for (let n = next++; n < tasks; n = next++) ids.set(n, await runOne(client, n));
  };
  const restarting = async () => {
    for (let round = 1; round <= restarts; round++) {
      const share = round / (restarts + 1);
      while (ids.size < share * tasks) await pause(10);
      await server[Symbol.asyncDispose]();
      server = await start();
      proxy.upstream = portOf(server);
    }
  };
  await Promise.all([restarting(), ...Array.from({ length: atOnce }, work)]);

  expect(new Set(ids.values()).size).toBe(tasks);
  expect(countRows(data)).toMatchObject({ runs: tasks, keys: tasks });
  // Fewer tasks may have had better luck.
  if (tasks >= 500) expect(Object.values(proxy.faults).every((count) => count > 0)).toBe(true);
  await server[Symbol.asyncDispose]();
});

const portOf = ({ url }: TestServer) => Number(new URL(url).port);

/** One task, from a request to its proof. @returns the id of its response */
async function runOne(client: Client, n: number): Promise<string> {
  const random = seededRandom(seed + n);
  const { said } = scriptOf(n);
  const task = client.run({ input: `task ${n}` });
  const seen = await random.pick(ways)(client, task, random);
  const result = await task.result();
  const id = await task.responseId;
  const where = `task ${n}, REINS_CHAOS_SEED=${seed}`;
  expect(result, where).toMatchObject({ status: 'completed', text: said });
  // Each event once, in order, the last one terminal.
  expect(
    seen.map((event) => event.sequence_number),
    where,
  ).toEqual(seen.map((_, index) => index));
  expect(seen.at(-1)?.type, where).toBe('response.completed');
  expect(result.response, where).toEqual(await client.responses.get(id));
  expect(task.snapshot().output.length, where).toBeGreaterThan(0);
  return id;
}
