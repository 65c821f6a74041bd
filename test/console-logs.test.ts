// C-091: logs of whole turns, as servers sent them, through the page's reducer, and the rows that they gave when they were
// recorded. `REINS_RECORD_LOGS=NAME,…` records those anew from a server of today; look at what changes. Those of other people's
// harnesses are what the real programs said (`src/harnesses/*/recorded`), sent through everything but the program.

import { breaches, createRig, short, type Rig } from '../src/console/state/rig.ts';
import { connect, type TaskEvent } from '../src/client/index.ts';
import { call, reply, say, text } from './support/model.ts';
import { describe, expect, test } from 'vitest';
import { foldStored } from '../src/console/state/from-history.ts';
import { fromUhp } from '../src/console/state/from-uhp.ts';
import { key } from './support/uhp.ts';
import { openPlace } from './support/console-place.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import { recordedFacts } from './support/recorded-facts.ts';
import { scriptedRuntime, scriptedSettings } from './support/scripted-runtime.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

interface Recorded {
  readonly events: readonly (readonly [number: number, event: TaskEvent])[];
  readonly rows: readonly string[];
}

const place = new URL('./fixtures/console-logs.json', import.meta.url);
const logs = () => Object.entries(JSON.parse(readFileSync(place, 'utf8')) as Record<string, Recorded>);

function begun(): Rig {
  return createRig()
    .do({ type: 'booted', preferences: { transport: 'task', enter: 'send', theme: 'system' }, draft: {} })
    .do({ type: 'draft_changed', draft: 'go' }, { type: 'submit', id: 'm1' }, { type: 'sent', turn: 'm1' });
}

function hear(rig: Rig, events: Recorded['events'], responseId = nameIn(events)): Rig {
  for (const [number, event] of events)
    rig.do({ type: 'received', turn: 'm1', from: { kind: 'task', responseId, number }, events: fromUhp(event) });
  return rig;
}

function nameIn(events: Recorded['events']): string {
  const [, first] = events[0] ?? [];
  return first !== undefined && 'response' in first ? first.response.id : '';
}

const replies = {
  chat: [say('A **short** answer, in two ', 'pieces.')],
  write: [
    reply(
      { kind: 'thinking', chunks: ['I plan. ', 'Then I write.'] },
      text('I write. '),
      call('c1', 'write_file', { path: 'a.txt', content: 'x' }),
    ),
    reply({ kind: 'thinking', chunks: ['Well.'] }, text('Written.')),
  ],
  several: [
    reply(call('c1', 'list_files', {}), call('c2', 'read_file', { path: 'none.txt' })),
    reply(call('c3', 'list_files', {})),
    say('One of three failed.'),
  ],
  broken: [{ fault: { kind: 'status', status: 401 } }],
  resumed: [{ ...say('The first try goes on and on.'), fault: { kind: 'cut', after: 1 } }],
} as const;

const wanted = process.env['REINS_RECORD_LOGS']?.split(',') ?? [];

test.runIf(wanted.length > 0)(
  'the logs are recorded anew',
  async () => {
    const recorded = Object.fromEntries(logs());
    const isOwn = (name: string) => name === 'tools' || name in replies;
    await using served = await openPlace({ replies });
    await record(served.server.url, wanted.filter(isOwn), recorded);
    const data = temporaryFolder();
    const runtime = scriptedRuntime(data, async (turn) => turn.say(...recordedFacts(turn.input)));
    await using foreign = await startServer({ data, settings: scriptedSettings, adapters: [runtime.adapter] });
    await record(
      foreign.url,
      wanted.filter((name) => !isOwn(name)),
      recorded,
    );
    writeFileSync(place, `${JSON.stringify(recorded, null, 1)}\n`);
  },
  60_000,
);

async function record(url: string, names: readonly string[], into: Record<string, Recorded>): Promise<void> {
  const client = connect(url, key);
  for (const input of names) {
    const { id } = await client.responses.create({ input }, { idempotencyKey: input });
    const events: [number, TaskEvent][] = [];
    for await (const { number, event } of client.streamOnce({ responseId: id, after: -1, reinsEvents: true }))
      if (number !== null && event !== null) events.push([number, event]);
    into[input] = { events, rows: hear(begun(), events).shown };
  }
}

describe.each(logs())('C-091: the log of %s', (_name, { events, rows }) => {
  test('gives the rows that it gave', () => {
    const rig = hear(begun(), events);
    expect([rig.shown, rig.state.phase.name]).toEqual([rows, 'ready']);
  });

  test('keeps the laws of the rows after each event, and gives the same when pieces of it come twice', () => {
    const rig = begun();
    for (const at of events.keys()) {
      hear(rig, events.slice(Math.max(0, at - 3), at + 1), nameIn(events));
      expect(breaches(rig.state)).toEqual([]);
    }
    expect(rig.shown).toEqual(rows);
  });

  test('C-037: gives the same as history, but for the thinking', () => {
    const source = { kind: 'log', events: events.map(([, event]) => event) } as const;
    const folded = foldStored({ id: nameIn(events), user: 'go', startedMs: 0, source });
    expect(folded.rows.map(short)).toEqual(rows.filter((row) => row !== 'K'));
  });
});
