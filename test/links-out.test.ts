// An agent that nothing holds back makes links out of its working directory; whoever reads or writes there afterwards (tools,
// artifacts, downloads, archives, files that are given) goes along none of them.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { existsSync, globSync, readFileSync, renameSync, statSync, symlinkSync } from 'node:fs';
import { fromBufferPromise } from 'yauzl';
import { join } from 'node:path';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';
import { text as textOf } from 'node:stream/consumers';

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ agent: { shell: { kind: 'host' } } });
});
afterAll(() => server.close());

const secret = 'a secret of the other session';

interface Turn {
  readonly id: string;
  readonly session: string;
  readonly folder: string;
  /** What its calls returned. */
  readonly results: string;
}

async function say(input: unknown, after?: Turn, metadata: object = {}): Promise<Turn> {
  const { body } = await server.call('POST', '/v1/responses', {
    input,
    metadata,
    ...(after === undefined ? {} : { previous_response_id: after.id }),
  });
  expect(body['status']).toBe('completed');
  const session = (body['metadata'] as { session_id: string }).session_id;
  const output = body['output'] as { type: string; output?: string }[];
  const results = output.filter(({ type }) => type === 'function_call_output').map((item) => item.output);
  return {
    id: String(body['id']),
    session,
    folder: join(server.dataDir, 'workspaces', session),
    results: results.join(),
  };
}

const shell = (command: string) => `Run this shell command and reply with its output only, nothing else: ${command}`;
const call = (tool: string, input: object) =>
  `Call the tool ${tool} with ${JSON.stringify(input)} and reply with exactly what it returns`;
const create = (name: string, content: string) => `Create a file named ${name} containing exactly: ${content}`;

interface Listed {
  readonly id: string;
  readonly container_id: string;
  readonly filename: string;
  readonly reins_deleted?: true;
}

async function filesOf({ session }: Turn): Promise<readonly Listed[]> {
  return (await server.call('GET', `/v1/sessions/${session}/files`)).body['files'] as readonly Listed[];
}

async function bytesOf(path: string): Promise<string> {
  const response = await fetch(`${server.url}${path}`, { headers: { Authorization: `Bearer ${ownerKey}` } });
  return Buffer.from(await response.arrayBuffer()).toString('latin1');
}

const contentOf = (file: Listed | undefined) =>
  bytesOf(`/v1/containers/${file?.container_id}/files/${file?.id}/content`);

/** Names and texts. */
async function archiveOf({ session }: Turn): Promise<ReadonlyMap<string, string>> {
  const zip = await fromBufferPromise(Buffer.from(await bytesOf(`/v1/sessions/${session}/files/archive`), 'latin1'), {
    lazyEntries: true,
  });
  const entries = new Map<string, string>();
  for await (const entry of zip.eachEntry())
    entries.set(entry.fileName, await textOf(await zip.openReadStreamPromise(entry)));
  return entries;
}

/** A session with a secret, and how everything of it stands. */
async function victim() {
  const turn = await say(create('secret.txt', secret));
  const [artifact] = await filesOf(turn);
  const look = () =>
    globSync('**', { cwd: turn.folder })
      .toSorted()
      .map((name) => [
        name,
        statSync(join(turn.folder, name)).isFile() && readFileSync(join(turn.folder, name), 'utf8'),
      ]);
  return { ...turn, look, before: look(), kept: join(server.dataDir, 'files', turn.session, 'kept'), artifact };
}

test("B119: tools go along no link to another session's folder, nor write through one that dangles", async () => {
  const other = await victim();
  const links = [
    `ln -s ${other.folder} up`,
    `ln -s ../${other.session}/secret.txt near`,
    `ln -s ${other.folder}/secret.txt far`,
    `ln -s ${other.folder}/planted.txt dangling`,
    `ln -s ${server.dataDir}/reins.db database`,
    `ln -s ${other.kept} kept`,
  ];
  let turn = await say(shell(links.join('; ')));
  const denied: readonly (readonly [string, object])[] = [
    ...['near', 'far', 'up/secret.txt', 'database', 'dangling'].map((path) => ['read_file', { path }] as const),
    ...['dangling', 'far', 'near', 'up/planted.txt', 'up/deep/planted.txt'].map(
      (path) => ['write_file', { path, content: 'planted' }] as const,
    ),
    ['edit_file', { path: 'far', old: 'secret', new: 'planted' }],
    ['list_files', { path: 'up' }],
    ['list_files', { path: 'kept' }],
    ['grep', { path: 'up', pattern: 'secret' }],
    ['glob', { path: 'up', pattern: '**' }],
  ];
  for (const [tool, input] of denied) {
    turn = await say(call(tool, input), turn);
    expect(`${tool} ${JSON.stringify(input)}: ${turn.results}`).toMatch(/leads (out of the workspace|nowhere)/);
    expect(turn.results).not.toContain(secret);
    expect(other.look()).toEqual(other.before);
  }
  // From the top, the links are named and not entered.
  turn = await say(call('grep', { pattern: 'secret of' }), turn);
  expect(turn.results).not.toContain(secret);
  expect(await filesOf(turn)).toEqual([]);
  const archive = await archiveOf(turn);
  expect([...archive.keys()]).toEqual(['REINS-SKIPPED.txt']);
  expect(archive.get('REINS-SKIPPED.txt')?.trim().split('\n').slice(1).toSorted()).toEqual(
    'dangling database far kept near up'.split(' '),
  );
});

test('B119: an artifact whose file, or folder, gives way to a link stays what it was, and a hard link is none', async () => {
  const other = await victim();
  const made = await say(shell('mkdir dir; echo mine > dir/secret.txt; echo mine > file.txt'));
  const first = await filesOf(made);
  expect(first.map(({ filename }) => filename).toSorted()).toEqual(['dir/secret.txt', 'file.txt']);
  const swap = [
    'rm -r dir file.txt',
    `ln -s ${other.folder} dir`,
    `ln -s ${other.folder}/secret.txt file.txt`,
    `ln ${other.folder}/secret.txt hard.txt`,
  ];
  const swapped = await say(shell(swap.join('; ')), made);
  const files = await filesOf(swapped);
  expect(files.filter(({ reins_deleted }) => reins_deleted !== true)).toEqual([]);
  for (const file of [...first, ...files]) expect(await contentOf(file)).toBe('mine\n');
  const archive = await archiveOf(swapped);
  expect([...archive.values()].join()).not.toContain(secret);
  for (const name of ['dir', 'file.txt', 'hard.txt']) expect(archive.get('REINS-SKIPPED.txt')).toContain(name);
  // A second name is not written through either: a write makes a file of its own.
  await say(call('write_file', { path: 'hard.txt', content: 'planted' }), swapped);
  expect(readFileSync(join(swapped.folder, 'hard.txt'), 'utf8')).toBe('planted');
  expect(other.look()).toEqual(other.before);
  expect(await contentOf(other.artifact)).toBe(secret);
});

test('B119: a pipe and a sparse file of 10 GB cost a refusal, in the tool as in the archive', async () => {
  let turn = await say(shell('mkfifo pipe; truncate -s 10G sparse; echo good > good.txt'));
  turn = await say(call('read_file', { path: 'pipe' }), turn);
  expect(turn.results).toContain('not a regular file');
  turn = await say(call('write_file', { path: 'pipe', content: 'x' }), turn);
  expect(turn.results).toContain('not a regular file');
  turn = await say(call('read_file', { path: 'sparse' }), turn);
  expect(turn.results).toContain('too large');
  const archive = await archiveOf(turn);
  expect([...archive.keys()].toSorted()).toEqual(['REINS-SKIPPED.txt', 'good.txt']);
  expect(archive.get('REINS-SKIPPED.txt')).toMatch(/pipe[^]*sparse|sparse[^]*pipe/);
});

test('B119: a file that is given lands beside a link of its name, and a fork takes no link out along', async () => {
  const other = await victim();
  const links = `ln -s ${other.folder}/planted.txt in.txt; ln -s ../${other.session}/secret.txt near; ln -s in.txt inner`;
  const turn = await say(shell(links));
  const file_data = `data:text/plain;base64,${Buffer.from('given').toString('base64')}`;
  const content = [
    { type: 'input_text', text: 'Reply with exactly: ok' },
    { type: 'input_file', filename: 'in.txt', file_data },
  ];
  const given = await say([{ role: 'user', content }], turn);
  expect(existsSync(join(other.folder, 'planted.txt'))).toBe(false);
  expect(readFileSync(join(given.folder, 'in (2).txt'), 'utf8')).toBe('given');
  const fork = await say(call('list_files', {}), turn, { reins_fork: true });
  expect(fork.session).not.toBe(turn.session);
  expect(fork.results).not.toMatch(/in\.txt -|near/);
  expect(globSync('*', { cwd: fork.folder }).toSorted()).toEqual(['inner']);
  expect(other.look()).toEqual(other.before);
});

test('B119: a working directory that gives way to a link to another one costs its own tasks, not the other session', async () => {
  const other = await victim();
  const turn = await say(shell('echo mine > mine.txt'));
  renameSync(turn.folder, `${turn.folder}-away`);
  symlinkSync(other.folder, turn.folder);
  for (const input of [call('read_file', { path: 'secret.txt' }), create('planted.txt', 'x')]) {
    const { body } = await server.call('POST', '/v1/responses', { input, previous_response_id: turn.id });
    expect(body['status']).not.toBe('completed');
    expect(JSON.stringify(body)).not.toContain(secret);
  }
  expect(other.look()).toEqual(other.before);
  expect((await server.call('DELETE', `/v1/sessions/${turn.session}`)).status).toBe(200);
  expect(other.look()).toEqual(other.before);
});
