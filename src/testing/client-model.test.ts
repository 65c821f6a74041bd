// E-942, L16: however badly a client is connected, it ends with the answer that the result holds.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkLog } from './check-log.ts';
import { createClientModel, type ClientModel } from './client-model.ts';
import { createEngineRig } from './engine-rig.ts';
import { defineTool } from '../engine/define-tool.ts';
import { isLive, type RunEvent } from '../core/run-event.ts';
import { simpleText, type ReplyPiece, type ScriptedReply } from './model-servers/reply-script.ts';
import { collect, scriptedAgent } from '../../test/support/agents.ts';

// How a connection goes: `take` events are delivered, then it is lost; the next one begins `back` events before the cursor.
const connections = fc.array(fc.record({ take: fc.nat(15), back: fc.nat(5) }), { maxLength: 8 });
type Connections = typeof connections extends fc.Arbitrary<infer C> ? C : never;

function readBadly(log: readonly RunEvent[], lost: Connections, pruneThrough = 0): ClientModel {
  const client = createClientModel();
  let source = log;
  for (const [at, { take, back }] of [...lost, { take: Infinity, back: 0 }].entries()) {
    const from = Math.max(0, client.cursor - back);
    const behind = source.filter(({ seq }) => seq > from);
    for (const event of behind.slice(0, take)) client.push(event);
    if (at === Math.floor(lost.length / 2)) source = pruned(log, pruneThrough, client.cursor);
  }
  return client;
}

/** The log without live events up to `through`, and with the notice that a reader in that range gets first (E-125, E-845). */
function pruned(log: readonly RunEvent[], through: number, cursor: number): readonly RunEvent[] {
  const placeOf = ({ step, attempt }: RunEvent) => `${step}:${attempt}`;
  const replaced = new Set(
    log.filter(({ type }) => type === 'turn-complete' || type === 'attempt-reset').map((event) => placeOf(event)),
  );
  const isGone = (event: RunEvent) => isLive(event.type) && event.seq <= through && replaced.has(placeOf(event));
  const next = log.find(({ seq }) => seq > cursor);
  const gap = { type: 'gap', data: { reason: 'events_pruned', from: cursor + 1, to: through } } as const;
  return log.flatMap((event) => [
    ...(event === next && cursor < through ? [{ ...event, ...gap }] : []),
    ...(isGone(event) ? [] : [event]),
  ]);
}

const chunks = fc.array(fc.string({ minLength: 1, maxLength: 5, unit: 'grapheme' }), { minLength: 1, maxLength: 4 });
const words: fc.Arbitrary<ReplyPiece> = fc.record({ kind: fc.constantFrom('text', 'thinking'), chunks });
const todos = (status: string) => JSON.stringify({ todos: [{ content: 'Dig', status }] });
const call: fc.Arbitrary<ReplyPiece> = fc.constantFrom<ReplyPiece[]>(
  { kind: 'tool-call', id: 'a', name: 'good', arguments: ['{', '}'] },
  { kind: 'tool-call', id: 'b', name: 'bad', arguments: ['{}'] },
  { kind: 'tool-call', id: 'c', name: 'unknown', arguments: ['{}'] },
  { kind: 'tool-call', id: 'd', name: 'write_todos', arguments: [todos('pending')] },
  { kind: 'tool-call', id: 'e', name: 'write_todos', arguments: [todos('completed')] },
);
const after = fc.oneof(fc.constant('nothing' as const), fc.nat(5));
const fault = fc.oneof(
  fc.record({ kind: fc.constantFrom('cut', 'error-event', 'stall'), after }),
  fc.constant({ kind: 'no-end-mark' }),
  fc.record({ kind: fc.constant('status'), status: fc.constantFrom(400, 429, 503) }),
);
const reply: fc.Arbitrary<ScriptedReply> = fc
  .record({
    pieces: fc.uniqueArray(fc.oneof({ weight: 3, arbitrary: words }, call), {
      maxLength: 4,
      selector: (piece) => (piece.kind === 'tool-call' ? piece.id : piece),
    }),
    finish: fc.option(fc.constantFrom('stop', 'length', 'content-filter'), { freq: 4 }),
    fault: fc.option(fault, { freq: 2 }),
  })
  .map(({ pieces, finish, fault: wrong }): ScriptedReply => ({
    pieces,
    ...(finish === null ? {} : { finish }),
    ...(wrong === null ? {} : { fault: wrong }),
  }));
const play = fc.record({
  replies: fc.array(reply, { maxLength: 8 }),
  cancelAt: fc.option(fc.nat(60), { freq: 3 }),
  maxSteps: fc.integer({ min: 1, max: 6 }),
});

const noInput = { type: 'object', properties: {} } as const;
const tools = [
  defineTool({ name: 'good', description: 'Does.', input: noInput, run: () => 'Done.' }),
  defineTool({ name: 'bad', description: 'Fails.', input: noInput, run: () => Promise.reject(new Error('No.')) }),
];
const script = (replies: readonly ScriptedReply[]) => (_: unknown, index: number) =>
  replies[index] ?? simpleText('End.');

const deliveries = fc.array(fc.record({ lost: connections, pruneThrough: fc.nat(100) }), {
  minLength: 5,
  maxLength: 5,
});

test('L16 over what the engine plays, faults, calls, cuts, continuations, reminders and cancels: 400 scripts, 5 readers each', async () => {
  await fc.assert(
    fc.asyncProperty(play, deliveries, async ({ replies, cancelAt, maxSteps }, readers) => {
      const rig = createEngineRig({
        replies: script(replies),
        tools,
        limits: { maxSteps },
        config: { planning: true },
      });
      const onEvent = ({ seq }: RunEvent) => void (seq === cancelAt && rig.stop.abort());
      await rig.run({ onEvent });
      const read = readers.map(({ lost, pruneThrough }) => readBadly(rig.log, lost, pruneThrough));
      expect([...checkLog(rig.log), ...read.flatMap(({ breaches }) => breaches)]).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

test('L16 over streams of createAgent, read while the run works and left and taken up again: 400 scripts', async () => {
  const config = {
    planning: true,
    retry: { backoffSeconds: 0, streamIdleTimeoutSeconds: 0.01, streamFirstEventTimeoutSeconds: null },
  } as const;
  await fc.assert(
    fc.asyncProperty(play, connections, async ({ replies, cancelAt, maxSteps }, lost) => {
      await using rig = scriptedAgent(script(replies), { tools, config });
      const stop = new AbortController();
      const stream = rig.agent.runStream('Go', { limits: { maxSteps }, signal: stop.signal });
      const owner = collect(stream);
      const client = createClientModel();
      for (const { take } of [...lost, { take: Infinity }]) {
        let taken = 0;
        for await (const event of stream) {
          client.push(event);
          if (event.seq === cancelAt) stop.abort();
          if (++taken > take) break;
        }
      }
      const log = await owner;
      expect([...checkLog(log), ...client.breaches]).toEqual([]);
      expect(client.cursor).toBe(log.length);
    }),
    { numRuns: 400 },
  );
});

test('a reader that lost something without a notice is told so', async () => {
  const cut: ScriptedReply = { ...simpleText('One ', 'two '), fault: { kind: 'cut', after: 2 } };
  const rig = createEngineRig({ replies: [cut, simpleText('One ', 'three.')] });
  await rig.run();
  const breachesWithout = (...gone: RunEvent['type'][]) => {
    const client = createClientModel();
    for (const event of rig.log) if (!gone.includes(event.type)) client.push(event);
    return client.breaches;
  };
  expect(breachesWithout('attempt-reset')).toEqual([]);
  expect(breachesWithout('text-delta')).toEqual([]);
  expect(breachesWithout('turn-complete')[0]).toMatch(/^L16/);
  const client = createClientModel();
  for (const event of rig.log) if (event.data !== 'three.') client.push(event);
  expect([client.breaches, client.output]).toEqual([[expect.stringMatching(/^E-125/)], 'One three.']);
});
