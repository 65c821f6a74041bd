// Forks over real HTTP (UD-28, UT-04).

import { expect, test } from 'vitest';
import { join } from 'node:path';
import { readdirSync } from 'node:fs';
import { call, reply, say } from './support/model.ts';
import { ended, type Answer, type Uhp } from './support/uhp.ts';
import { listAsked, say as tell, startAsked, startAsking } from './support/asking-server.ts';
import { startHeld, type HeldServer } from './support/held-server.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

const create = (name: string, content: string) => `Create a file named ${name} containing exactly: ${content}`;
const shell = (command: string) => `Run this shell command and reply with its output only, nothing else: ${command}`;
const reins_fork = true;

const sessionOf = ({ body }: Answer) => body.metadata.session_id;
const next = (uhp: Uhp, input: string, before: Answer) => uhp.create({ input, previous_response_id: before.body.id });
const forkOf = (uhp: Uhp, input: unknown, from: Answer, headers = {}) =>
  uhp.create({ input, previous_response_id: from.body.id, metadata: { reins_fork } }, headers);

async function artifactsOf(uhp: Uhp, answer: Answer): Promise<readonly string[]> {
  const { body } = await uhp.send('GET', `/v1/sessions/${sessionOf(answer)}/files`);
  return (body['files'] as { filename: string }[]).map(({ filename }) => filename);
}

/** What a model was given to read when it was last asked this, without its instructions. */
function readFor({ model }: HeldServer, input: string): readonly string[] {
  const messages = (model.asked(input).at(-1)?.body['messages'] ?? []) as unknown as readonly {
    readonly role: string;
    readonly content: string | readonly { readonly text: string }[];
  }[];
  return messages
    .filter(({ role }) => role !== 'system')
    .map(({ content }) => (typeof content === 'string' ? content : content.map(({ text }) => text).join('')));
}

test('UT-04: an earlier response is continued by a fork alone: a new session with its files as they were then', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { uhp } = server;
  const first = await uhp.create({ input: create('a.txt', 'one') });
  const second = await next(uhp, create('a.txt', 'two'), first);
  expect(await next(uhp, 'x', first)).toMatchObject({
    code: 'reins_not_session_tip',
    body: { error: { detail: { tip: second.body.id } } },
  });
  const fork = await forkOf(uhp, create('b.txt', 'fork'), first);
  expect(fork.body).toMatchObject({
    status: 'completed',
    previous_response_id: first.body.id,
    metadata: { reins_fork, reins_forked_from: first.body.id },
  });
  expect(sessionOf(fork)).not.toBe(sessionOf(first));
  const session = `/v1/sessions/${sessionOf(fork)}`;
  expect((await uhp.send('GET', session)).body).toMatchObject({ reins_forked_from: first.body.id });
  // What was inherited is no artifact of the fork, until it is changed.
  expect(await artifactsOf(uhp, fork)).toEqual(['b.txt']);
  const shown = await next(uhp, shell('cat a.txt; echo three > a.txt'), fork);
  expect(JSON.stringify(shown.body.output)).toContain('one');
  expect((await artifactsOf(uhp, fork)).toSorted()).toEqual(['a.txt', 'b.txt']);
  expect((await uhp.send('GET', `${session}/turns`)).body['turns']).toMatchObject([
    { id: fork.body.id },
    { id: shown.body.id },
  ]);
  const source = await next(uhp, shell('cat a.txt; ls'), second);
  expect(JSON.stringify(source.body.output)).toContain('two');
  expect(JSON.stringify(source.body.output)).not.toContain('b.txt');
});

test('UD-28: a fork knows the words up to its response and no more, through a chain of forks, also when their sources are gone', async () => {
  await using place = await startHeld();
  const { uhp } = place;
  const first = await uhp.create({ input: 'one' });
  const second = await next(uhp, 'two', first);
  const fork = await forkOf(uhp, 'three', first);
  const again = await forkOf(uhp, 'four', fork);
  await next(uhp, 'late', second);
  for (const source of [first, fork]) await uhp.send('DELETE', `/v1/sessions/${sessionOf(source)}`);
  expect((await next(uhp, 'five', again)).body).toMatchObject({ status: 'completed' });
  const words = ['one', 'You said: one', 'three', 'You said: three', 'four', 'You said: four', 'five'];
  expect(readFor(place, 'three')).toEqual(words.slice(0, 3));
  expect(readFor(place, 'five')).toEqual(words);
  expect(await forkOf(uhp, 'x', first)).toMatchObject({ status: 404, code: 'response_not_found' });
});

test('UD-28: a fork disturbs nobody: one of an ended response needs no free session, one of a running response is refused', async () => {
  await using place = await startHeld();
  const { uhp, gate } = place;
  const first = await uhp.create({ input: 'one' });
  const running = await uhp.create({ input: 'held', previous_response_id: first.body.id, background: true });
  expect(await forkOf(uhp, 'two', running)).toMatchObject({ status: 409, code: 'session_busy' });
  expect((await forkOf(uhp, 'two', first)).body).toMatchObject({ status: 'completed' });
  await uhp.cancel(running.body.id);
  gate.open();
  expect((await forkOf(uhp, 'two', running)).body).toMatchObject({
    status: 'completed',
    metadata: { reins_forked_from: running.body.id },
  });
});

test('UD-28: the directories after the newest twenty responses are held; a fork of an older one is refused', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { uhp } = server;
  const tasks = [await uhp.create({ input: create('0.txt', 'x') })];
  for (let last = tasks[0]; last !== undefined && tasks.length <= 20; last = tasks.at(-1))
    tasks.push(await next(uhp, create(`${tasks.length}.txt`, 'x'), last));
  const [oldest, second] = tasks;
  if (oldest === undefined || second === undefined) throw new Error('There are no tasks.');
  expect(await forkOf(uhp, 'x', oldest)).toMatchObject({
    status: 409,
    code: 'reins_fork_unavailable',
    param: 'previous_response_id',
  });
  const fork = await forkOf(uhp, shell('ls'), second);
  expect(JSON.stringify(fork.body.output)).toContain('0.txt\\n1.txt');
  expect(JSON.stringify(fork.body.output)).not.toContain('2.txt');
});

test('U-352, UD-13: a fork that is refused leaves nothing behind, and its key gives one session however often it is sent', async () => {
  const data = temporaryFolder();
  await using server = await startServer({ data });
  const { uhp } = server;
  const first = await uhp.create({ input: create('a.txt', 'one') });
  const folders = () => readdirSync(join(data, 'workspaces'));
  const lost = [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_nosuch' }] }];
  expect(await forkOf(uhp, lost, first)).toMatchObject({ status: 404, code: 'file_not_found' });
  expect(folders()).toEqual([sessionOf(first)]);
  const key = { 'idempotency-key': 'one-fork' };
  const forks = await Promise.all(Array.from({ length: 5 }, () => forkOf(uhp, shell('cat a.txt'), first, key)));
  forks.push(await forkOf(uhp, shell('cat a.txt'), first, key));
  const sessions = new Set(forks.map(sessionOf));
  expect(sessions.size).toBe(1);
  expect(folders().toSorted()).toEqual([sessionOf(first), ...sessions].toSorted());
  expect(JSON.stringify(forks[0]?.body.output)).toContain('one');
});

test('B109: what is remembered for a session outlives a restart, and does not come along into a fork', async () => {
  const write = call('w', 'write_file', { path: 'made.txt', content: 'made' });
  await using place = await startAsking({ replies: { write: [reply(write), say('Done.')] } });
  const { task, asked } = await startAsked(place.uhp, { input: 'write' });
  await tell(place.uhp, asked, 'decide', { decision: 'approve', remember: { scope: 'session', match: 'tool' } });
  const final = await ended(place.uhp, task.id);
  await place.restart();
  const { uhp } = place;
  const rules = await uhp.send('GET', `/v1/reins/rules?session=${final.metadata.session_id}`);
  expect(rules.body['rules']).toMatchObject([{ scope: 'session', name: 'write_file' }]);
  const second = await uhp.create({ input: 'write', previous_response_id: task.id });
  expect(second.body).toMatchObject({ status: 'completed' });
  const fork = await startAsked(uhp, {
    input: 'write',
    previous_response_id: second.body.id,
    metadata: { reins_fork },
  });
  expect(await listAsked(uhp, `session=${fork.task.metadata.session_id}`)).toHaveLength(1);
  await uhp.cancel(fork.task.id);
});
