// Tasks for servers that are being broken, and readers that follow them through it. Each task uses tools of every replay policy;
// each run of its manual ones leaves a line in a file outside of all workspaces.

import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { assembleOutput, isTerminal, type Body, type SeenFrame } from './event-stream.ts';
import { call, reply, text } from './model.ts';
import { checkLog } from '../../src/testing/check-log.ts';
import { connect, type TaskEvent } from '../../src/client/index.ts';
import { finalOf, key, whole, type Uhp } from './uhp.ts';
import { seededRandom, type SeededRandom } from './seeded-random.ts';
import type { ReplyPiece, ScriptedReply } from '../../src/testing/model-servers/reply-script.ts';
import type { ServerCluster } from './cluster.ts';

const words = ['one ', 'zwölf ', '三 ', '😀 ', 'a longer piece of text, with "quotes"\n', '\u2028 '];

export interface Script {
  readonly replies: readonly ScriptedReply[];
  /** Ids of its manual calls. */
  readonly manual: readonly string[];
}

/** What the model says in task `n`, over some seconds. */
export function scriptOf(n: number, traces: string): Script {
  const random = seededRandom(n);
  const talk = (): ReplyPiece[] =>
    Array.from({ length: 2 + random.below(5) }, () => [
      text(random.pick(words), random.pick(words)),
      { kind: 'pause', ms: 10 + random.below(120) } as const,
    ]).flat();
  const manual: string[] = [];
  const useTool = (step: number): ReplyPiece => {
    const id = `t${n}s${step}`;
    switch (random.below(4)) {
      case 0:
        return call(id, 'list_files', {});
      case 1:
        return call(id, 'write_file', { path: `${id}.txt`, content: id });
      default: {
        manual.push(id);
        const seconds = random.below(5) / 10;
        return call(id, 'bash', { command: `echo ran >> ${join(traces, id)}; sleep ${seconds}` });
      }
    }
  };
  const steps = Array.from({ length: 3 + random.below(4) }, (_, step) => reply(...talk(), useTool(step)));
  return { replies: [...steps, reply(...talk(), text(`That was task ${n}.`))], manual };
}

export interface Followed {
  readonly n: number;
  readonly id: string;
  readonly frames: readonly SeenFrame[];
  readonly events: readonly TaskEvent[];
  readonly connections: number;
}

export interface Clients {
  /** Starts task `n` through the balancer and follows it to its end: by the client, and by a reader that keeps its own cursor. */
  follow(n: number): Promise<Followed>;
  /** Answers of servers that were no stream and no outage, as they came. */
  readonly odd: readonly string[];
}

export function startClients({ balancer, uhp }: ServerCluster, seed: number): Clients {
  const patience = { backoffMs: 20, maxBackoffMs: 300, maxAttempts: 500, timeoutMs: 10_000 };
  const client = connect(balancer.url, key, patience);
  const odd: string[] = [];
  return {
    odd,
    async follow(n) {
      const random = seededRandom(seed + n);
      const task = client.run({ input: `task ${n}` });
      const events = Array.fromAsync(task);
      const id = await task.responseId;
      const reading = readToEnd({ uhp, id, random, odd });
      const [seen, { frames, connections }] = await Promise.all([events, reading]);
      expect(task.snapshot().output, `task ${n}`).toEqual((await task.result()).response.output);
      return { n, id, events: seen, frames, connections };
    },
  };
}

const quietMs = 3_000;

/** A reader that leaves now and then, and whenever it is quiet for long, and goes on after the last event that it has. */
async function readToEnd(o: {
  readonly uhp: Uhp;
  readonly id: string;
  readonly random: SeededRandom;
  readonly odd: string[];
}): Promise<{ readonly frames: readonly SeenFrame[]; readonly connections: number }> {
  const frames: SeenFrame[] = [];
  let connections = 0;
  for (; !frames.some(isTerminal); connections++) {
    const after = frames.at(-1)?.id;
    try {
      const attachment = await o.uhp.attach(o.id, after === undefined ? {} : { after });
      const staysFor = o.random.below(60);
      let quiet = setTimeout(attachment.leave, quietMs);
      for await (const frame of attachment.frames) {
        clearTimeout(quiet);
        quiet = setTimeout(attachment.leave, quietMs);
        if (frames.push(frame) % 60 === staysFor) attachment.leave();
      }
      clearTimeout(quiet);
    } catch (cause) {
      const said = String(cause);
      if (!/fetch failed|terminated|but 50[234]:/.test(said)) o.odd.push(`${o.id} after ${after}: ${said}`);
      await pause(50);
    }
  }
  return { frames, connections };
}

/** What holds of a task that has ended, whatever happened meanwhile. */
export async function proveTask(cluster: ServerCluster, task: Followed, traces: string): Promise<ProvenTask> {
  const where = `task ${task.n}, ${task.id}`;
  const kept = await whole(cluster.uhp.attach(task.id));
  const { body } = await cluster.uhp.get(task.id);
  expect(finalOf(kept), where).toEqual(body);
  const { frames } = task;
  // No gap and no repeat over all of its connections, and nothing that the log lacks, byte for byte.
  expect(
    frames.map(({ id }) => id),
    where,
  ).toEqual(frames.map((_, index) => index));
  expect(
    frames.map((frame) => frame.text),
    where,
  ).toEqual(kept.map((frame) => frame.text));
  expect(assembleOutput(frames), where).toEqual(body.output);
  expect(task.events, where).toEqual(kept.map(({ event }) => event));
  const log = await cluster.logOf(task.id);
  expect(checkLog(log), where).toEqual([]);
  expect(body.status, `${where}: ${JSON.stringify(body.error)}`).toBe('completed');
  proveManual(body, task.n, traces);
  const legs = log.filter(({ type }) => type === 'run-started').length;
  return { legs, gaps: log.filter(({ type }) => type === 'gap').length, connections: task.connections };
}

export interface ProvenTask {
  readonly legs: number;
  readonly gaps: number;
  readonly connections: number;
}

/** E-542: a manual tool ran once, or it is not known whether it did; never twice. */
function proveManual(body: Body, n: number, traces: string): void {
  const unknown = body.metadata['reins_unknown_outcomes'] ?? [];
  for (const id of scriptOf(n, traces).manual) {
    const file = join(traces, id);
    const runs = existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
    const where = `the manual call ${id}, unknown outcomes: ${JSON.stringify(unknown)}`;
    expect(runs, where).toBeLessThanOrEqual(1);
    if (!JSON.stringify(unknown).includes(`"${id}"`)) expect(runs, where).toBe(1);
  }
}
