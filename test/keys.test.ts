// Keys over HTTP and on the command line (UR-25, UR-34, UD-34, UT-34).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectTo, key, type Uhp } from './support/uhp.ts';
import { databaseEnv } from './support/cluster-in-process.ts';
import { rowsOf } from './support/rows.ts';
import { join } from 'node:path';
import { readdirSync, readFileSync } from 'node:fs';
import { reins } from './reins-process.ts';
import { startServer, type TestServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

interface Key {
  readonly id: string;
  readonly key: string;
  readonly principal: string;
  readonly scopes: readonly string[];
}

let data: string;
let server: TestServer;
beforeAll(async () => {
  data = temporaryFolder();
  server = await startServer({ data });
});
afterAll(() => server[Symbol.asyncDispose]());

const make = async (body: object, uhp = server.uhp) =>
  (await uhp.send('POST', '/v1/reins/keys', { body })).body as unknown as Key;
const list = async () => (await server.uhp.send('GET', '/v1/reins/keys')).body['keys'] as readonly Key[];
const as = ({ key: token }: Key): Uhp => connectTo(server.url, token);
const revoke = ({ id }: Pick<Key, 'id'>) => server.uhp.send('DELETE', `/v1/reins/keys/${id}`);

describe('UR-25: over HTTP', () => {
  test('a key is shown once; the list and the folder have nothing of it', async () => {
    const { key: token, ...made } = await make({ principal: 'once', name: 'laptop' });
    expect(made).toEqual({
      id: expect.stringMatching(/^key_/),
      object: 'reins.key',
      principal: 'once',
      scopes: ['read', 'tasks', 'manage'],
      name: 'laptop',
      created_at: expect.any(Number),
    });
    expect(token).toMatch(/^rk_[\w-]{43}$/);
    expect((await list()).find(({ id }) => id === made.id)).toEqual(made);
    expect(JSON.stringify([...rowsOf(data)])).not.toContain(token.slice(3));
    // Not the index beside them: who reads it in this process gives up the server's locks on it.
    for (const file of readdirSync(data).filter((name) => name === 'reins.db' || name === 'reins.db-wal'))
      expect(readFileSync(join(data, file)).includes(token.slice(3))).toBe(false);
  });

  test('UT-34, U-041: a revoked key is refused at once, as an unknown one is, and is gone from the list', async () => {
    const made = await make({ principal: 'gone' });
    expect((await as(made).send('GET', '/v1/harnesses')).status).toBe(200);
    const { body } = await revoke(made);
    expect(body).toEqual({ id: made.id, deleted: true });
    const [refused, unknown] = [
      await as(made).send('GET', '/v1/harnesses'),
      await connectTo(server.url, 'rk_unknown').send('GET', '/v1/harnesses'),
    ];
    expect(refused).toMatchObject({ status: 401, code: 'invalid_credential' });
    expect(refused.body).toEqual(unknown.body);
    expect((await list()).map(({ id }) => id)).not.toContain(made.id);
    expect(await revoke(made)).toMatchObject({ status: 404, code: 'reins_key_not_found' });
    expect(await revoke({ id: 'key_never' })).toMatchObject({ status: 404, code: 'reins_key_not_found' });
  });

  test('UD-34: the first key of a principal brings it a harness of each base, the second brings none', async () => {
    const first = await make({ principal: 'ada' });
    const harnesses = async () =>
      (await as(first).send('GET', '/v1/harnesses')).body['harnesses'] as { base: string }[];
    const before = await harnesses();
    expect(before.map(({ base }) => base)).toContain('native');
    await make({ principal: 'ada' });
    expect(await harnesses()).toEqual(before);
    const task = await as(first).create({ input: 'Reply with exactly: ok' });
    expect(task.body).toMatchObject({ status: 'completed' });
  });

  test('UR-34: a key may do what its scopes say, and making keys is for admins', async () => {
    const reader = as(await make({ principal: 'eve', scopes: ['read'] }));
    expect((await reader.send('GET', '/v1/harnesses')).status).toBe(200);
    for (const [method, path, scope] of [
      ['POST', '/v1/responses', 'tasks'],
      ['POST', '/v1/harnesses', 'manage'],
      ['POST', '/v1/reins/keys', 'admin'],
      ['GET', '/v1/reins/keys', 'admin'],
      ['GET', '/v1/reins/audit', 'admin'],
    ] as const) {
      const refused = await reader.send(method, path);
      expect(refused).toMatchObject({ status: 403, code: 'insufficient_scope' });
      expect(JSON.stringify(refused.body)).toContain(`'${scope}'`);
    }
  });

  test.each([
    [{}, 'principal'],
    [{ principal: '' }, 'principal'],
    [{ principal: 'two words' }, 'principal'],
    [{ principal: 'x', scopes: ['read', 'root'] }, 'scopes[1]'],
    [{ principal: 'x', scopes: [] }, 'scopes'],
    [{ principal: 'x', scopes: 'read' }, 'scopes'],
    [{ principal: 'x', name: 7 }, 'name'],
  ])('%j is refused', async (body, param) => {
    const before = await list();
    expect(await server.uhp.send('POST', '/v1/reins/keys', { body })).toMatchObject({
      status: 400,
      code: 'invalid_input',
      param,
    });
    expect(await list()).toEqual(before);
  });
});

describe('reins keys, on the folder of a server that is running', () => {
  const run = async (...args: string[]) => reins(['keys', ...args, '--data', data], { env: await databaseEnv(data) });

  test('a key made there is one for the server at once, and so is a revocation', async () => {
    const made = await run('create', '--principal', 'cli', '--scopes', 'read, tasks', '--name', 'mine', '--json');
    expect(made).toMatchObject({ code: 0 });
    const parsed = JSON.parse(made.stdout) as Key;
    expect(parsed).toMatchObject({ object: 'reins.key', principal: 'cli', scopes: ['read', 'tasks'], name: 'mine' });
    expect((await as(parsed).create({ input: 'Reply with exactly: ok' })).body).toMatchObject({ status: 'completed' });
    expect((await run('list')).stdout).toMatch(new RegExp(`^${parsed.id} +cli .*read,tasks +mine$`, 'm'));
    expect((JSON.parse((await run('list', '--json')).stdout) as { keys: Key[] }).keys).toEqual(await list());
    expect(await run('revoke', parsed.id)).toMatchObject({ code: 0, stdout: `Revoked ${parsed.id}.\n` });
    expect((await as(parsed).send('GET', '/v1/harnesses')).status).toBe(401);
    expect(await run('revoke', parsed.id)).toMatchObject({ code: 1, stdout: '' });
  });

  test('the key alone goes to stdout', async () => {
    const { stdout, stderr } = await run('create', '--principal', 'pipe');
    expect(stdout).toMatch(/^rk_[\w-]{43}\n$/);
    expect(stderr).toContain('not shown again');
    expect(stderr).not.toContain(stdout.trim());
  });

  test.each([
    [['create'], '--principal is missing'],
    [['create', '--principal', 'x', '--scopes', 'root'], 'read, tasks, manage, admin'],
    [['create', '--principal', 'two words'], 'principal'],
    [['revoke'], 'which key'],
    [['list', '--name', 'x'], '--name goes with create'],
    [['frob'], "there is no 'frob'"],
    [[], 'create, list or revoke'],
  ])('reins keys %j is wrong use', async (args, sentence) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  test('a folder that is not there is named, and is not made', async () => {
    const { code, stderr } = await reins(['keys', 'list', '--data', join(data, 'none')]);
    expect(code).toBe(2);
    expect(stderr).toContain(join(data, 'none'));
  });
});

test("UT-28: the operator's own key is in no list and in no table", async () => {
  expect(JSON.stringify(await list())).not.toContain(key);
  expect(JSON.stringify(rowsOf(data).get('keys'))).not.toContain(key);
});
