// Servers with one PostgreSQL and one bucket, and each with a data folder of its own: files go wherever they are wanted.

import { answerOf } from './support/event-stream.ts';
import { describeWithPostgres, openStore } from './support/postgres.ts';
import { describeWithS3, type S3 } from './support/s3.ts';
import { loadConfig } from '../src/config.ts';
import { lookAtNeighbours } from '../src/look-at-neighbours.ts';
import { join } from 'node:path';
import { existsSync, linkSync, writeFileSync } from 'node:fs';
import { ended, key, type Answer, type Uhp } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { ConfigurationError } from '../src/core/errors.ts';
import { expect, onTestFinished, test } from 'vitest';
import { runIds } from '../src/core/ids.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import type { Cluster } from './support/postgres.ts';

const create = (name: string, content: string) => `Create a file named ${name} containing exactly: ${content}`;
const shell = (command: string) => `Run this shell command and reply with its output only, nothing else: ${command}`;
const sessionOf = ({ body }: Answer) => body.metadata.session_id;
const after = (before: Answer, input: unknown, metadata = {}) => ({
  input,
  previous_response_id: before.body.id,
  metadata,
});

interface Listed {
  readonly id: string;
  readonly container_id: string;
  readonly filename: string;
}

describeWithS3('files of several machines', (s3) => {
  describeWithPostgres('on one PostgreSQL', (cluster) => {
    test('U-404, U-406, U-408: what a task made at one server is listed, read by ranges and packed at another', async () => {
      const { one, two } = await open(cluster, s3);
      const made = await one.uhp.create({ input: create('a.txt', 'from the first') });
      const [listed] = await filesOf(two.uhp, made);
      expect(listed?.filename).toBe('a.txt');
      const path = `/v1/containers/${listed?.container_id}/files/${listed?.id}/content`;
      expect(await textOf(two, path)).toEqual([200, 'from the first']);
      expect(await textOf(two, path, { range: 'bytes=5-7' })).toEqual([206, 'the']);
      const zip = await get(two, `/v1/sessions/${sessionOf(made)}/files/archive`);
      const packed = Buffer.from(await zip.arrayBuffer()).toString('latin1');
      expect([packed.includes('a.txt'), packed.includes('SKIPPED')]).toEqual([true, false]);
    });

    test('U-400, UD-44: an upload taken in at one server lies in the working directory of a task at another', async () => {
      const { one, two } = await open(cluster, s3);
      const form = new FormData();
      form.set('file', new Blob(['x'.repeat(300_000)]), 'given.bin');
      const sent = await fetch(`${one.url}/v1/files`, { method: 'POST', body: form, headers: bearer });
      const { id } = (await sent.json()) as { id: string };
      const content = [
        { type: 'input_file', file_id: id },
        { type: 'input_text', text: shell('wc -c < given.bin') },
      ];
      const counted = await two.uhp.create({ input: [{ role: 'user', content }] });
      expect(answerOf(counted.body)).toContain('300000');
      // What was given is no artifact.
      expect(await filesOf(one.uhp, counted)).toEqual([]);
    });

    test('M1: a session goes on at any server with its directory as its last task left it, there and back', async () => {
      const { one, two } = await open(cluster, s3);
      const first = await one.uhp.create({ input: shell('mkdir -p deep .git; echo one > deep/a; echo g > .git/x') });
      const second = await two.uhp.create(after(first, shell('cat deep/a .git/x; echo two >> deep/a; echo b > b')));
      expect(answerOf(second.body)).toContain('one\ng');
      expect((await filesOf(one.uhp, second)).map(({ filename }) => filename)).toEqual(['b', 'deep/a']);
      const third = await one.uhp.create(after(second, shell('cat deep/a b; rm b')));
      expect(answerOf(third.body)).toContain('one\ntwo\nb');
      const fourth = await two.uhp.create(after(third, shell('cat deep/a; ls')));
      expect(answerOf(fourth.body)).toMatch(/one\ntwo\ndeep\s*$/);
      // What no task has touched is nobody's change, wherever it came from.
      const fork = await two.uhp.create(after(first, shell('cat deep/a'), { reins_fork: true }));
      expect(answerOf(fork.body)).toContain('one');
      expect(await filesOf(two.uhp, fork)).toEqual([]);
      const onward = await one.uhp.create(after(fork, shell('cat deep/a .git/x')));
      expect(answerOf(onward.body)).toContain('one\ng');
      expect(await filesOf(one.uhp, onward)).toEqual([]);
    });

    test('M2: a task that waits at one server and goes on at another has what it made before', async () => {
      const { one, two } = await open(cluster, s3, { approvals: { toolPermissions: { bash: 'ask' } } });
      const first = await one.uhp.create({ input: create('before.txt', 'made before') });
      const asked = await one.uhp.create({
        ...after(first, shell('cat before.txt; echo more > later')),
        background: true,
      });
      const approval = await eventually(async () => {
        const { body } = await two.uhp.send('GET', '/v1/reins/approvals?status=pending');
        return (body['approvals'] as { id: string }[])[0];
      }, 10_000);
      await one[Symbol.asyncDispose]();
      await two.uhp.send('POST', `/v1/reins/approvals/${approval.id}/decide`, { body: { decision: 'approve' } });
      const done = await ended(two.uhp, asked.body.id);
      expect([done.status, answerOf(done)]).toEqual(['completed', expect.stringContaining('made before')]);
      expect((await filesOf(two.uhp, first)).map(({ filename }) => filename)).toEqual(['before.txt', 'later']);
    });

    test('M1: a task whose directory cannot be stored while it waits goes on where that is, wherever it was decided on', async () => {
      const settings = { approvals: { toolPermissions: { bash: 'ask' } } };
      const { one, two, database } = await open(cluster, s3, settings);
      const first = await two.uhp.create({ input: create('before.txt', 'made before') });
      const root = join(two.data, 'workspaces', sessionOf(first));
      linkSync(join(root, 'before.txt'), join(two.data, 'outside'));
      const task = after(first, shell('cat before.txt; echo more > later'));
      const asked = await two.uhp.create({ ...task, background: true });
      const decide = await eventually(async () => {
        const { body } = await one.uhp.send('GET', '/v1/reins/approvals?status=pending');
        const [approval] = body['approvals'] as { id: string }[];
        return approval && `/v1/reins/approvals/${approval.id}/decide`;
      }, 10_000);
      await using rows = await openStore(database, { listenUrl: null });
      const runId = runIds.make(asked.body.id.slice('resp_'.length));
      await eventually(async () => (await rows.run(runId))?.phase === 'waiting' || undefined);
      await one.uhp.send('POST', decide, { body: { decision: 'approve' } });
      const done = await ended(one.uhp, asked.body.id);
      expect([done.status, answerOf(done)]).toEqual(['completed', expect.stringContaining('made before')]);
      expect(existsSync(join(root, 'later'))).toBe(true);
      const refused = await one.uhp.create(after(asked, shell('ls')));
      expect(refused).toMatchObject({ status: 503, body: { error: { code: 'reins_files_unavailable' } } });
    });

    test('E-660: a file of a message that another server takes in lies where the task works, before it is read', async () => {
      const { one, two } = await open(cluster, s3);
      const running = await one.uhp.create({
        input: shell('while [ ! -e go ]; do sleep 0.1; done; rm go'),
        background: true,
      });
      await eventually(
        async () => JSON.stringify((await one.uhp.get(running.body.id)).body.output).includes('sleep') || undefined,
      );
      const file_data = `data:text/plain;base64,${Buffer.from('given').toString('base64')}`;
      const content = [
        { type: 'input_file', filename: 'given.txt', file_data },
        { type: 'input_text', text: 'Go on.' },
      ];
      const message = { body: { input: [{ role: 'user', content }] } };
      const sent = await two.uhp.send('POST', `/v1/reins/responses/${running.body.id}/steer`, message);
      expect(sent.status).toBe(200);
      writeFileSync(join(one.data, 'workspaces', sessionOf(running), 'go'), '');
      await ended(two.uhp, running.body.id);
      expect(await filesOf(two.uhp, running)).toEqual([]);
      const next = await two.uhp.create(after(running, shell('cat given*.txt')));
      expect(answerOf(next.body)).toContain('given');
    });

    test('U-370: what is deleted at one server is gone from the bucket', async () => {
      const { one, two, store, bucket } = await open(cluster, s3);
      const made = await one.uhp.create({ input: create('a.txt', 'x') });
      expect((await store.keys(bucket)).filter((each) => each.includes(sessionOf(made))).length).toBeGreaterThan(1);
      await two.uhp.send('DELETE', `/v1/sessions/${sessionOf(made)}`);
      expect(await store.keys(bucket)).toEqual([]);
    });

    test('B4: while the bucket cannot be reached a task goes on and says what is not kept, and a reader is told to come again', async () => {
      const { one, store } = await open(cluster, s3);
      const first = await one.uhp.create({ input: create('a.txt', 'x') });
      const [listed] = await filesOf(one.uhp, first);
      store.network.weather = 'refused';
      const path = `/v1/containers/${listed?.container_id}/files/${listed?.id}/content`;
      const refused = await get(one, path);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await refused.json()).toMatchObject({ error: { code: 'reins_files_unavailable' } });
      const made = await one.uhp.create(after(first, create('b.txt', 'y')));
      expect(made.body).toMatchObject({ status: 'completed', metadata: { reins_degraded: ['files:unchecked'] } });
      store.network.weather = 'fair';
      // The directory is here, whatever was kept of it.
      const next = await one.uhp.create(after(made, shell('cat a.txt b.txt')));
      expect(answerOf(next.body)).toContain('xy');
      expect(await textOf(one, path)).toEqual([200, 'x']);
    });
  });

  test('settings that cannot work stop the start, and no secret is repeated', async () => {
    const store = await s3();
    const { url } = await store.bucket();
    const wrong = [
      ['https://secret@bucket', 'it must be as s3://bucket'],
      ['s3://key:secret@bucket', 'it holds no credentials'],
      [url.replace(/bucket-\d+/, 'no-such-bucket'), 'The specified bucket does not exist'],
      ['s3://bucket?endpoint=http://127.0.0.1:9', 'ECONNREFUSED'],
    ];
    for (const [address = '', says = ''] of wrong) {
      const starting = startServer({ data: temporaryFolder(), env: { REINS_FILES_URL: address } });
      const fault = await starting.then(
        () => null,
        (cause: unknown) => cause,
      );
      expect(fault).toBeInstanceOf(ConfigurationError);
      expect(String(fault)).toContain(says);
      expect(String(fault)).not.toContain('secret');
    }
  });

  test('doctor says of a bucket whether it can be listed, and why not', async () => {
    const { url } = await (await s3()).bucket();
    const finding = (state: string, says: string) => ({
      what: 'bucket',
      state,
      message: expect.stringContaining(says),
    });
    expect(await told(url)).toEqual([finding('well', 'listed')]);
    const gone = url.replace(/bucket-\d+/, 'no-such-bucket');
    expect(await told(gone)).toEqual([finding('wrong', 'The specified bucket does not exist')]);
    expect(await told('s3://bucket?endpoint=http://127.0.0.1:9')).toEqual([finding('wrong', 'ECONNREFUSED')]);
  });
});

const told = (url: string) =>
  lookAtNeighbours(loadConfig({ flags: { data: temporaryFolder() }, env: { REINS_FILES_URL: url } }));
const bearer = { authorization: `Bearer ${key}` };

/** Two servers that have nothing in common but the database and the bucket. */
async function open(cluster: () => Promise<Cluster>, s3: () => Promise<S3>, settings: object = {}) {
  const store = await s3();
  const { name, url } = await store.bucket();
  const database = await (await cluster()).database();
  const env = { REINS_DATABASE_URL: database, REINS_FILES_URL: url };
  const start = async () => {
    const data = temporaryFolder();
    const server = await startServer({
      data,
      env,
      settings: { agent: { shell: { kind: 'host' } }, ...settings },
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    return { ...server, data };
  };
  const [one, two] = await Promise.all([start(), start()]);
  onTestFinished(() => void (store.network.weather = 'fair'));
  return { one, two, store, bucket: name, database };
}

async function filesOf(uhp: Uhp, answer: Answer): Promise<readonly Listed[]> {
  const { body } = await uhp.send('GET', `/v1/sessions/${sessionOf(answer)}/files`);
  return body['files'] as readonly Listed[];
}

function get({ url }: { readonly url: string }, path: string, headers = {}): Promise<Response> {
  return fetch(url + path, { headers: { ...bearer, ...headers } });
}

async function textOf(
  server: { readonly url: string },
  path: string,
  headers = {},
): Promise<readonly [number, string]> {
  const answer = await get(server, path, headers);
  return [answer.status, await answer.text()];
}
