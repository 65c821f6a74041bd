// E-946: two processes on one store, each with a clock of its own, stop and go on at any moment and rob each other: the log is
// that of one owner.
//
// `REINS_THEFT_ROUNDS` sets the number of histories.

import fc from 'fast-check';
import { begin, pass, shareStore, type StoreProcess } from './support/store-process.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { expect, test } from 'vitest';
import { sleep, type Clock } from '../src/core/clock.ts';
import { takeOver } from '../src/tasks/take-over.ts';
import type { ModelRequest } from '../src/engine/model.ts';
import type { RunEvent } from '../src/core/run-event.ts';
import type { ScriptedReply } from '../src/testing/model-servers/reply-script.ts';
import type { Tool } from '../src/engine/tool.ts';

const call = (id: string) => ({ kind: 'tool-call', id, name: 'look', arguments: [`{"at":"${id}"}`] }) as const;
const hold = { kind: 'pause', ms: 400 } as const;
const replies: readonly ScriptedReply[] = [
  { pieces: [{ kind: 'text', chunks: ['I ', 'will '] }, hold, { kind: 'text', chunks: ['look.'] }, call('a')] },
  { pieces: [call('b'), hold, call('c')] },
  {
    pieces: [{ kind: 'thinking', chunks: ['So ', 'it is.'] }, hold, { kind: 'text', chunks: ['There ', 'it ', 'is.'] }],
  },
];
const replyTo = ({ prompt }: ModelRequest) => replies[prompt.filter(({ role }) => role === 'assistant').length] ?? {};

const lookTool = (clock: Clock): Tool => ({
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: { at: { type: 'string' } }, additionalProperties: false },
  replay: 'safe',
  async run(input, { signal }) {
    await sleep(clock, 300, signal);
    return { content: `Seen: ${JSON.stringify(input)}` };
  },
});

/** Something happens to one process; then time passes for all that do not stand. */
interface Move {
  readonly do: 'stop' | 'go' | 'steal' | 'nothing';
  readonly who: 0 | 1;
  readonly ms: number;
}

const move: fc.Arbitrary<Move> = fc.record({
  do: fc.constantFrom('stop', 'go', 'steal', 'steal', 'nothing'),
  who: fc.constantFrom(0, 1),
  ms: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(0, 5, 100, 300, 399, 400) },
    { weight: 1, arbitrary: fc.constant(40_000) },
  ),
});

async function play(moves: readonly Move[]): Promise<readonly RunEvent[]> {
  await using shared = shareStore({ replyTo, tools: (clock) => [lookTool(clock)] });
  const { store, logOf } = shared;
  const processes: readonly [StoreProcess, StoreProcess] = [await shared.start(), await shared.start()];
  const { runId } = await begin(processes[0], 'Go.');
  for (const { do: what, who, ms } of moves) {
    const process = processes[who];
    if (what === 'stop') process.stop();
    if (what === 'go') process.go();
    const run = what === 'steal' && !process.isStopped ? await store.run(runId) : null;
    if (run?.status === 'running') void takeOver(process.services, run);
    await pass(ms, ...processes);
  }
  for (const process of processes) process.go();
  for (let round = 0; (await store.run(runId))?.status === 'running'; round++) {
    if (round > 300) throw new Error('The run does not end.');
    await pass(1_000, ...processes);
  }
  const events = await logOf(runId);
  // Whoever was robbed has left, by itself, and wrote nothing.
  await pass(12_000, ...processes);
  expect(processes.map(({ services }) => services.runs.running())).toEqual([[], []]);
  for (const process of processes) await process.end();
  expect(await logOf(runId)).toEqual(events);
  return events;
}

/** What one owner would have made of it: the accepted replies, each call's one answer, the result. */
function essenceOf(events: readonly RunEvent[]) {
  return {
    turns: events.flatMap((event) => (event.type === 'text-complete' ? [event.data] : [])),
    answers: events.flatMap((event) => (event.type === 'tool-result' ? [event.data] : [])),
    result: events.flatMap((event) => {
      if (event.type !== 'run-result') return [];
      const { status, stopReason, output, steps } = event.data;
      return [{ status, stopReason, output, steps }];
    }),
  };
}

const rounds = Number(process.env['REINS_THEFT_ROUNDS'] ?? '60');

test(
  'E-946: whatever is stopped and stolen, the log is lawful and says what one owner’s would',
  { timeout: 30_000 + rounds * 500 },
  async () => {
    const wanted = essenceOf(await play([]));
    expect(wanted.result).toEqual([{ status: 'completed', stopReason: 'end-turn', output: 'There it is.', steps: 3 }]);
    let takeovers = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 3, maxLength: 10, size: 'max' }), async (moves) => {
        const events = await play(moves);
        takeovers += events.filter(({ type }) => type === 'run-started').length - 1;
        expect(checkLog(events)).toEqual([]);
        expect(essenceOf(events)).toEqual(wanted);
      }),
      { numRuns: rounds },
    );
    // The moves did fall into the run, not beside it.
    expect(takeovers).toBeGreaterThan(rounds / 3);
  },
);
