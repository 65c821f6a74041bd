// The server is killed with -9 at random moments, again and again on one data folder: each process takes over what the one
// before it left, and is the next victim. What every round proves is listed in `proveRun`.
//
// The moments: at admission (the request may not even be answered), in the model call, right after a tool call was let go,
// right after its answer, near the end, and anywhere. `REINS_KILL_ROUNDS` sets the number of rounds, `REINS_KILL_SEED` repeats them.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerOf, assembleOutput, isTerminal, type Body, type SeenFrame } from './support/event-stream.ts';
import { finalOf, whole, type Uhp } from './support/uhp.ts';
import { seededRandom, type SeededRandom } from './support/seeded-random.ts';
import { killDuringStart, startProcess } from './support/server.ts';
import { temporaryFolder } from './reins-process.ts';

const rounds = Number(process.env['REINS_KILL_ROUNDS'] ?? '40');
const seed = Number(process.env['REINS_KILL_SEED'] ?? String(Date.now() % 1_000_000));

/** Long enough that an edit takes its time: a kill can fall between its effect and its stored result. */
const ballast = '#'.repeat(512 * 1024);
const mark = '<mark>';

interface Work {
  readonly input: string;
  /** What holds of a task of this kind that completed. */
  prove(response: Body, workspace: string): void;
}

const kinds: readonly ((n: number) => Work)[] = [
  (n) => {
    const words = `round ${n} says these ten words one after another`;
    return { input: `Reply with exactly: ${words}`, prove: (response) => expect(answerOf(response)).toBe(words) };
  },
  () => {
    const numbers = '1\n2\n3\n4\n5';
    return { input: 'Count slowly from 1 to 5', prove: (response) => expect(answerOf(response)).toBe(numbers) };
  },
  (n) => ({
    input: `Create a file named made-${n}.txt containing exactly: made in round ${n}`,
    prove(response, workspace) {
      expect(answerOf(response)).toBe(`The file made-${n}.txt is written.`);
      expect(readFileSync(join(workspace, `made-${n}.txt`), 'utf8')).toBe(`made in round ${n}`);
    },
  }),
  () => ({
    input: 'Summarise README.md in 2 bullets',
    prove: (response) => expect(answerOf(response)).toBe('- It has one page.\n- It is read by tests.'),
  }),
  // A tool that must never run twice: every run leaves one `+` in the file.
  () => ({
    input: `Call the tool edit_file with {"path": "edited.txt", "old": "${mark}", "new": "+${mark}"}`,
    prove(response, workspace) {
      const runs = readFileSync(join(workspace, 'edited.txt'), 'utf8').split('+').length - 1;
      const result = response.output.find(({ type }) => type === 'function_call_output');
      expect(result).toBeDefined();
      const known = result?.status === 'completed';
      expect(runs, 'a manual tool runs at most once').toBeLessThanOrEqual(1);
      if (known) expect(runs).toBe(1);
      else expect(response.metadata['reins_unknown_outcomes']).toEqual([result?.call_id]);
    },
  }),
];

/** A task that was asked for, and what its client has seen of it. */
interface Sent {
  readonly work: Work;
  readonly body: object;
  readonly key: string;
  readonly seen: SeenFrame[];
  /** Settles when its connection is over. */
  readonly over: Promise<void>;
}

interface Round {
  readonly uhp: Uhp;
  readonly random: SeededRandom;
  readonly name: string;
  readonly number: number;
}

function send({ uhp, name, number }: Round, at: number, onFrame: (frame: SeenFrame) => void): Sent {
  const work = (kinds[at % kinds.length] ?? kinds[0])?.(number);
  if (work === undefined) throw new Error('There is no work.');
  const seen: SeenFrame[] = [];
  const key = `${name}-${at}`;
  const body = { input: work.input, stream: true };
  const follow = async () => {
    for await (const frame of (await uhp.stream(body, { 'idempotency-key': key })).frames) {
      seen.push(frame);
      onFrame(frame);
    }
  };
  // A kill refuses or breaks any of these connections; what was seen before is what counts.
  return { work, body, key, seen, over: follow().catch(() => undefined) };
}

/** When the process dies: some ms after the first frame that fits, or after the round began. */
function chooseMoment(random: SeededRandom): { readonly after: (frame: SeenFrame) => boolean; readonly ms: number } {
  const ofItem = (type: string) => (frame: SeenFrame) =>
    frame.event.type === 'response.output_item.done' && frame.event.item?.type === type;
  return random.pick([
    { after: () => true, ms: random.below(10) },
    { after: () => true, ms: random.below(900) },
    { after: ({ event }: SeenFrame) => event.delta !== undefined, ms: random.below(100) },
    { after: ofItem('function_call'), ms: random.below(4) },
    { after: ofItem('function_call'), ms: random.below(40) },
    { after: ofItem('function_call_output'), ms: random.below(20) },
    { after: isTerminal, ms: random.below(5) },
  ]);
}

async function strike(round: Round, kill: () => Promise<void>): Promise<readonly Sent[]> {
  const { random } = round;
  const moment = chooseMoment(random);
  const reached = Promise.withResolvers<void>();
  const onFrame = (frame: SeenFrame) => {
    if (moment.after(frame)) reached.resolve();
  };
  const sent = Array.from({ length: kinds.length }, (_, at) => send(round, at, onFrame));
  const late = (async () => {
    await Promise.race([reached.promise, pause(2_000)]);
    // Asked for in the last moments: killed on its way in, at admission, or just begun.
    const latest = send(round, kinds.length + random.below(kinds.length), () => {});
    await pause(moment.ms);
    await kill();
    return latest;
  })();
  const all = [...sent, await late];
  await Promise.all(all.map(({ over }) => over));
  return all;
}

/** What the same client finds after the restart, by key: the first task, or a new one where the first was never admitted. */
async function comeBack(uhp: Uhp, { body, key, seen }: Sent): Promise<readonly SeenFrame[]> {
  const last = seen.at(-1);
  const headers = { 'idempotency-key': key, ...(last === undefined ? {} : { 'last-event-id': String(last.id) }) };
  const back = await uhp.stream(body, headers);
  if (last !== undefined) expect(back.headers.get('idempotent-replayed'), key).toBe('true');
  expect(back.status, key).toBe(last !== undefined && isTerminal(last) ? 204 : 200);
  return Array.fromAsync(back.frames);
}

async function proveRun(uhp: Uhp, sent: Sent, data: string): Promise<Body> {
  const rest = await comeBack(uhp, sent);
  const frames = [...sent.seen, ...rest];
  // No gap, no repeat, one end, over the kill.
  expect(frames.map(({ id }) => id)).toEqual(frames.map((_, index) => index));
  expect(frames.filter(isTerminal)).toEqual(frames.slice(-1));
  const final = finalOf(frames);
  // Nothing that was seen is missing or changed, byte for byte.
  expect((await whole(uhp.attach(final.id))).map(({ text }) => text)).toEqual(frames.map(({ text }) => text));
  // The stream, its terminal event and the stored response say the same.
  expect(assembleOutput(frames)).toEqual(final.output);
  expect((await uhp.get(final.id)).body).toEqual(final);
  expect(final.status, JSON.stringify(final.error)).toBe('completed');
  sent.work.prove(final, join(data, 'workspaces', final.metadata.session_id));
  return final;
}

/** UD-60: shortly after the port is open no task stands still. */
async function proveMoving(uhp: Uhp, sent: Sent, listeningAtMs: number): Promise<void> {
  const id = sent.seen[0]?.event.response?.id;
  const last = sent.seen.at(-1);
  if (id === undefined || last === undefined || isTerminal(last)) return;
  const stream = await uhp.attach(id, { after: last.id });
  const next = await stream.frames.next();
  stream.leave();
  expect(next.done, 'the stream goes on').toBe(false);
  expect(performance.now() - listeningAtMs, `${sent.key} moves within 2 s`).toBeLessThan(2_000);
}

test(
  `UT-11: kill -9 at ${rounds} random moments loses, repeats and blocks nothing (seed ${seed})`,
  { timeout: 30_000 + rounds * 15_000 },
  async () => {
    const [data, template] = [temporaryFolder(), temporaryFolder()];
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'config.json'), JSON.stringify({ agent: { template } }));
    writeFileSync(join(template, 'README.md'), '# Title\n\nIt has one page. It is read by tests.\n');
    writeFileSync(join(template, 'edited.txt'), ballast + mark);
    const random = seededRandom(seed);
    // Both paces take turns, so that each is cut by the kill and each continues what the other began.
    const speedOf = (number: number) => ({ REINS_DEMO_SPEED: number % 2 === 0 ? 'human' : 'full' });
    let server = await startProcess(data, speedOf(0));
    const tips: string[] = [];
    let cut = 0;
    for (let number = 0; number < rounds; number++) {
      const round = { uhp: server.uhp, random, number, name: `${seed}-${number}` };
      const sent = await strike(round, () => server.kill());
      cut += sent.filter(({ seen }) => !seen.some(isTerminal)).length;
      // Now and then the one that takes over is killed as well, before its port is open.
      if (random.below(4) === 0) await killDuringStart(data, random.below(1_000));
      server = await startProcess(data, speedOf(number + 1));
      const listeningAtMs = performance.now();
      const { uhp } = server;
      await Promise.all(sent.map((each) => proveMoving(uhp, each, listeningAtMs)));
      const finals = await Promise.all(sent.map((each) => proveRun(uhp, each, data)));
      // No session stays busy. The follow-ups run on into the next kill, unwatched.
      for (const { id } of finals) {
        const next = await uhp.create({
          input: 'Reply with exactly: and on',
          previous_response_id: id,
          background: true,
        });
        expect(next.status, next.code).toBe(200);
        tips.push(next.body.id);
      }
    }
    for (const id of tips) {
      await whole(server.uhp.attach(id));
      expect((await server.uhp.get(id)).body).toMatchObject({ status: 'completed' });
    }
    // The moments did fall into the work, not beside it.
    expect(cut).toBeGreaterThanOrEqual(rounds);
  },
);
