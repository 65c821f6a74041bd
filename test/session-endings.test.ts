// How sessions end: deleted while they run (U-370, UT-31), expired (UD-61), and what a crash in between leaves.

import { existsSync, readdirSync, readFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from './support/asking-server.ts';
import { openStoreOf } from './support/rows.ts';
import { sessionIds } from '../src/core/ids.ts';
import { startServer } from './support/server.ts';
import { systemClock } from '../src/system.ts';
import { temporaryFolder } from './support/folders.ts';
import { whole, type Answer } from './support/uhp.ts';

const ok = 'Reply with exactly: ok';
const create = 'Create a file named a.txt containing exactly: hello';
const sessionOf = ({ body }: Answer) => body.metadata.session_id;
const foldersOf = (data: string, session: string) =>
  ['workspaces', 'files'].map((folder) => existsSync(join(data, folder, session)));

/** Goes as time does, from where it is put; what is done each minute is done each second. */
function movableClock() {
  let aheadMs = 0;
  return {
    now: () => systemClock.now() + aheadMs,
    timer: (ms: number, callback: () => void) => systemClock.timer(ms >= 60_000 ? ms / 60 : ms, callback),
    goOn: (ms: number) => void (aheadMs += ms),
  };
}

test('UT-31, U-370: who deletes a running session ends its processes first, and whoever follows the task sees its end', async () => {
  const data = temporaryFolder();
  await using server = await startServer({ data });
  const { uhp } = server;
  const first = await uhp.create({ input: create });
  const session = sessionOf(first);
  const command = 'sh -c \'trap "" TERM; echo $$ > pid; while :; do sleep 1; done\'';
  const task = await uhp.create(
    { input: `Run this shell command: ${command}`, previous_response_id: first.body.id, background: true },
    { 'idempotency-key': 'k' },
  );
  const follower = whole(uhp.attach(task.body.id));
  const pid = await eventually(() => {
    const path = join(data, 'workspaces', session, 'pid');
    return existsSync(path) ? Number(readFileSync(path, 'utf8')) || undefined : undefined;
  });
  // In a sandbox it has another number than outside.
  const alive = () => readdirSync('/proc').some((name) => commandOf(name).includes('echo $$ > pid; while :'));
  expect(pid).toBeGreaterThan(0);
  expect(alive()).toBe(true);
  expect((await uhp.send('DELETE', `/v1/sessions/${session}`)).body).toEqual({ id: session, deleted: true });
  expect(alive()).toBe(false);
  expect((await follower).at(-1)?.event.response?.status).toBe('cancelled');
  expect(foldersOf(data, session)).toEqual([false, false]);
  expect((await uhp.get(task.body.id)).code).toBe('response_not_found');
  const again = { input: `Run this shell command: ${command}`, previous_response_id: first.body.id, background: true };
  expect((await uhp.create(again, { 'idempotency-key': 'k' })).status).toBe(404);
});

function commandOf(pid: string): string {
  try {
    return /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
  } catch {
    return '';
  }
}

test('U-370: of many that delete a session at once, and begin tasks in it, none fails', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { uhp } = server;
  const first = await uhp.create({ input: ok });
  const path = `/v1/sessions/${sessionOf(first)}`;
  const deletions = Array.from({ length: 4 }, () => uhp.send('DELETE', path));
  const tasks = Array.from({ length: 4 }, () => uhp.create({ input: ok, previous_response_id: first.body.id }));
  for (const { status } of await Promise.all(deletions)) expect([200, 404]).toContain(status);
  for (const { status } of await Promise.all(tasks)) expect([200, 404, 409]).toContain(status);
  expect((await uhp.send('GET', path)).code).toBe('session_not_found');
  expect((await uhp.send('GET', '/v1/sessions')).body['sessions']).toEqual([]);
});

test('UD-61: a session that is unused for long expires with its files and its link; what it answered can still be read', async () => {
  const [data, clock] = [temporaryFolder(), movableClock()];
  await using server = await startServer({ data, clock, settings: { retention: { sessionSeconds: 3_600 } } });
  const { uhp } = server;
  const first = await uhp.create({ input: create });
  const session = sessionOf(first);
  const path = `/v1/sessions/${session}`;
  const { body: share } = await uhp.send('POST', `${path}/share`);
  const { body: files } = await uhp.send('GET', `${path}/files`);
  const [file] = files['files'] as { id: string; container_id: string }[];
  clock.goOn(3_000_000);
  const kept = await uhp.create({ input: ok });
  clock.goOn(1_000_000);
  await eventually(async () => ((await uhp.send('GET', path)).status === 404 ? true : undefined));
  const gone = { status: 404, code: 'session_expired' };
  for (const below of ['', '/turns', '/files', '/share'])
    expect(await uhp.send('GET', path + below)).toMatchObject(gone);
  expect(await uhp.send('POST', `${path}/share`)).toMatchObject(gone);
  expect(await uhp.create({ input: ok, previous_response_id: first.body.id })).toMatchObject(gone);
  const fork = { input: ok, previous_response_id: first.body.id, metadata: { reins_fork: true } };
  expect(await uhp.create(fork)).toMatchObject(gone);
  expect((await fetch(server.url + String(share['url']))).status).toBe(404);
  expect((await uhp.send('GET', `/v1/containers/${file?.container_id}/files/${file?.id}/content`)).status).toBe(404);
  await eventually(() => (foldersOf(data, session).includes(true) ? undefined : true));
  expect((await uhp.get(first.body.id)).body).toMatchObject({ status: 'completed' });
  expect((await uhp.send('GET', '/v1/sessions')).body['sessions']).toMatchObject([{ id: sessionOf(kept) }]);
  expect((await uhp.send('DELETE', path)).body).toEqual({ id: session, deleted: true });
  expect((await uhp.send('GET', path)).code).toBe('session_not_found');
});

test('U-370: what a crash in the midst of a deletion has left on the disk is removed by the next server, and nothing else', async () => {
  const data = temporaryFolder();
  let sessions: readonly [string, string];
  {
    await using server = await startServer({ data });
    sessions = [
      sessionOf(await server.uhp.create({ input: create })),
      sessionOf(await server.uhp.create({ input: ok })),
    ];
  }
  const [gone, kept] = sessions;
  {
    await using store = await openStoreOf(data);
    await store.deleteSession(sessionIds.parse(gone) ?? sessionIds.make('none'));
  }
  // What no record names is left alone: it may be about to be made, or be of a database that was put back.
  mkdirSync(join(data, 'workspaces', 'hsessunknown'));
  await using _server = await startServer({ data });
  await eventually(() => (foldersOf(data, gone).includes(true) ? undefined : true));
  expect(foldersOf(data, kept)).toEqual([true, true]);
  expect(existsSync(join(data, 'workspaces', 'hsessunknown'))).toBe(true);
});
