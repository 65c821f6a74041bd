// B100: a cancel in each state of a task: answered within a second, nothing further is done, the session is usable.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { askedBy, eventually, listAsked, startAsking, type AskingServer } from './support/asking-server.ts';
import { call, reply, say, text, type Replies } from './support/model.ts';
import { ended } from './support/uhp.ts';
import { openStoreOf } from './support/rows.ts';
import { runIds } from '../src/core/ids.ts';
import type { Body } from './support/event-stream.ts';

// The second that a cancel may take is the server's, not that of twelve servers which start at once.
vi.setConfig({ maxConcurrency: 3 });

const bash = (command: string) => reply(call('b', 'bash', { command }));
const replies: Replies = {
  write: [reply(text('Writing.'), call('w', 'write_file', { path: 'made.txt', content: 'made' })), say('Done.')],
  busy: [{ fault: { kind: 'status', status: 429, headers: { 'retry-after': '30' } } }],
  work: [bash('echo $$ > pid; sleep 30; echo late > late'), say('Done.')],
};

const begin = async (place: AskingServer, input: string) => (await place.uhp.create({ input, background: true })).body;
const asked = (place: AskingServer, input: string) =>
  eventually(() => place.model.asked(input).length > 0 || undefined);
const streaming = async (place: AskingServer) => {
  const task = await begin(place, 'held');
  await asked(place, 'held');
  return task;
};
const waiting = async (place: AskingServer) => {
  const task = await begin(place, 'write');
  await askedBy(place.uhp, task.id);
  return task;
};
const fileOf = (place: AskingServer, task: Body, name: string) =>
  join(place.data, 'workspaces', task.metadata.session_id, name);
/** As another process of the same machine asks for it. */
async function pauseFromElsewhere({ data }: AskingServer, { id }: Body): Promise<void> {
  await using store = await openStoreOf(data);
  await store.requestPause(runIds.parse(id) ?? runIds.make(''));
}
/** Waits until nobody owns it. */
async function parked({ data }: AskingServer, { id }: Body): Promise<void> {
  await using store = await openStoreOf(data);
  await eventually(async () => (await store.run(runIds.make(id.slice(5))))?.phase === 'paused' || undefined);
}

const states: Record<string, (place: AskingServer) => Promise<Body>> = {
  starting: (place) => begin(place, 'held'),
  streaming,
  'waiting for a person': waiting,
  'in a pause before another attempt': async (place) => {
    const task = await begin(place, 'busy');
    await asked(place, 'busy');
    return task;
  },
  'in a tool': async (place) => {
    const task = await begin(place, 'work');
    await askedBy(place.uhp, task.id, 0);
    await eventually(() => existsSync(fileOf(place, task, 'pid')) || undefined);
    return task;
  },
  paused: async (place) => {
    const task = await streaming(place);
    await pauseFromElsewhere(place, task);
    await pause(1_200);
    place.gate.open();
    await parked(place, task);
    return task;
  },
  'waiting for a person, over a restart': async (place) => {
    const task = await waiting(place);
    await place.restart();
    return task;
  },
  'just taken up after a restart': async (place) => {
    const task = await streaming(place);
    await place.restart();
    return task;
  },
  'with others queued behind it': async (place) => {
    const task = await streaming(place);
    const path = `/v1/reins/sessions/${task.metadata.session_id}/queue`;
    await place.uhp.send('POST', path, { body: { input: 'queued' } });
    return task;
  },
};

test.concurrent.each(Object.entries(states))('B100: %s', async (name, reach) => {
  const permissions = name === 'in a tool' ? { mode: 'allow-all' as const } : {};
  await using place = await startAsking({ replies, permissions, settings: { agent: { shell: { kind: 'host' } } } });
  const task = await reach(place);
  const startedMs = performance.now();
  const answer = await place.uhp.cancel(task.id);
  expect(performance.now() - startedMs).toBeLessThan(1_000);
  expect(answer).toMatchObject({ status: 200, body: { status: 'cancelled', error: null } });
  const requests = place.model.server.requests.length;
  place.gate.open();
  expect(await ended(place.uhp, task.id)).toEqual(answer.body);
  expect(await listAsked(place.uhp, `response=${task.id}`)).toEqual([]);
  // Longer than a scan takes: nobody takes the task up again, and nothing queued begins.
  await pause(1_200);
  expect(place.model.server.requests).toHaveLength(requests);
  expect(existsSync(fileOf(place, task, 'made.txt'))).toBe(false);
  if (name === 'in a tool') expect(isAlive(Number(readFileSync(fileOf(place, task, 'pid'), 'utf8')))).toBe(false);
  const next = await place.uhp.create({ input: 'go on', previous_response_id: task.id });
  expect(next.body).toMatchObject({ status: 'completed' });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test.concurrent('B100: finishing: what is stored first stands', async () => {
  for (let round = 0; round < 6; round++) {
    await using place = await startAsking({ replies });
    const task = await streaming(place);
    place.gate.open();
    await pause(round * 2);
    const answer = await place.uhp.cancel(task.id);
    expect(['cancelled', 'completed']).toContain(answer.body.status);
    expect(await ended(place.uhp, task.id)).toEqual(answer.body);
  }
});

test.concurrent('B092, B103: a cancel through another process’s flag is heard within the scan', async () => {
  await using place = await startAsking({ replies });
  const task = await streaming(place);
  await using store = await openStoreOf(place.data);
  await store.requestCancel(runIds.make(task.id.slice(5)));
  expect(await ended(place.uhp, task.id)).toMatchObject({ status: 'cancelled' });
  expect(place.model.server.open).toBe(0);
});

test.concurrent('E-812: a pause that the last owner did not come to holds after a restart', async () => {
  await using place = await startAsking({ replies });
  const task = await streaming(place);
  await pauseFromElsewhere(place, task);
  await place.restart();
  await parked(place, task);
  const requests = place.model.server.requests.length;
  await pause(1_200);
  expect(place.model.server.requests).toHaveLength(requests);
  expect((await place.uhp.get(task.id)).body).toMatchObject({ status: 'in_progress' });
});
