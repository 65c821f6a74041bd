// What agents make, over real HTTP (U-080 to U-083, U-403 to U-408, UD-53 to UD-57).

import { afterEach, expect, test } from 'vitest';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { fromBuffer, type Entry } from 'yauzl';
import { join } from 'node:path';
import { runIds } from '../src/core/ids.ts';
import { openStoreOf } from './support/rows.ts';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';
import { isTerminal } from './support/event-stream.ts';
import { connectTo } from './support/uhp.ts';
import { startProcess } from './support/server.ts';
import { temporaryFolder } from './reins-process.ts';
import { text as textOf } from 'node:stream/consumers';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** An agent that nothing holds back: its shell is that of this machine. */
async function open(): Promise<RunningServer> {
  const server = await startServer({ agent: { shell: { kind: 'host' } } });
  cleanups.push(() => server.close());
  return server;
}

const create = (name: string, content: string) => `Create a file named ${name} containing exactly: ${content}`;
const shell = (command: string) => `Run this shell command and reply with its output only, nothing else: ${command}`;

interface Listed {
  readonly id: string;
  readonly container_id: string;
  readonly filename: string;
  readonly reins_deleted?: true;
}

interface Turn {
  readonly id: string;
  readonly session: string;
  /** What the session lists after it. */
  readonly files: readonly Listed[];
}

async function say(server: RunningServer, input: string, after?: Turn): Promise<Turn> {
  const { body } = await server.call('POST', '/v1/responses', {
    input,
    ...(after === undefined ? {} : { previous_response_id: after.id }),
  });
  expect(body['status']).toBe('completed');
  const session = (body['metadata'] as { session_id: string }).session_id;
  return { id: String(body['id']), session, files: await filesOf(server, session) };
}

async function filesOf(server: RunningServer, session: string): Promise<readonly Listed[]> {
  return (await server.call('GET', `/v1/sessions/${session}/files`)).body['files'] as readonly Listed[];
}

const contentOf = ({ container_id, id }: Listed) => `/v1/containers/${container_id}/files/${id}/content`;

async function get(server: RunningServer, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(new URL(path, server.url), {
    headers: { Authorization: `Bearer ${ownerKey}`, ...headers },
  });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

test('X-06, X-07, UT-21: what a task made is cited on its last message, listed, and downloads byte for byte', async () => {
  const server = await open();
  const { body } = await server.call('POST', '/v1/responses', { input: create('notes.txt', 'artifact-ok') });
  expect(body['status']).toBe('completed');
  const session = (body['metadata'] as { session_id: string }).session_id;
  const { body: listed } = await server.call('GET', `/v1/sessions/${session}/files`);
  const files = listed['files'] as { id: string; container_id: string; filename: string; bytes: number }[];
  expect(files).toMatchObject([{ object: 'file', filename: 'notes.txt', bytes: 11 }]);
  const message = (body['output'] as { type: string; content?: { text: string; annotations: unknown[] }[] }[]).at(-1);
  const [annotation] = (message?.content?.[0]?.annotations ?? []) as Record<string, string | number>[];
  expect(annotation).toMatchObject({
    type: 'container_file_citation',
    container_id: files[0]?.container_id,
    file_id: files[0]?.id,
    filename: 'notes.txt',
  });
  const text = message?.content?.[0]?.text ?? '';
  const cited = text.slice(Number(annotation?.['start_index']), Number(annotation?.['end_index']));
  expect([text, 'notes.txt']).toContain(cited);
  const { response, bytes } = await get(server, String(annotation?.['download_url']));
  expect(bytes.toString()).toBe('artifact-ok');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  expect(response.headers.get('content-disposition')).toBe('attachment; filename=notes.txt');
  expect(response.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
});

test('UD-55: ranges, versions and heads are answered as a browser asks for them', async () => {
  const server = await open();
  const { body } = await server.call('POST', '/v1/responses', { input: create('a.txt', '0123456789') });
  const session = (body['metadata'] as { session_id: string }).session_id;
  const [file] = (await server.call('GET', `/v1/sessions/${session}/files`)).body['files'] as {
    id: string;
    container_id: string;
  }[];
  const path = `/v1/containers/${file?.container_id}/files/${file?.id}/content`;
  const etag = `"${createHash('sha256').update('0123456789').digest('hex')}"`;
  const part = await get(server, path, { Range: 'bytes=2-4' });
  expect([part.response.status, part.bytes.toString(), part.response.headers.get('content-range')]).toEqual([
    206,
    '234',
    'bytes 2-4/10',
  ]);
  expect((await get(server, path, { Range: 'bytes=-3' })).bytes.toString()).toBe('789');
  expect((await get(server, path, { Range: 'bytes=2-4', 'If-Range': etag })).response.status).toBe(206);
  expect((await get(server, path, { Range: 'bytes=2-4', 'If-Range': '"other"' })).response.status).toBe(200);
  const beyond = await get(server, path, { Range: 'bytes=50-' });
  expect([beyond.response.status, beyond.response.headers.get('content-range')]).toEqual([416, 'bytes */10']);
  expect(beyond.response.headers.get('uhp-version')).not.toBeNull();
  expect((await get(server, path, { 'If-None-Match': etag })).response.status).toBe(304);
  const head = await fetch(new URL(path, server.url), {
    method: 'HEAD',
    headers: { Authorization: 'Bearer owner-key-of-this-test' },
  });
  expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([200, '10', etag]);
});

test('UD-53, UT-29: new content is a new file and the old one stays; one that is gone stays listed, until it is made again', async () => {
  const server = await open();
  const first = await say(server, create('a.txt', 'one'));
  const second = await say(server, create('a.txt', 'two'), first);
  expect(second.files).toHaveLength(1);
  expect(second.files[0]?.id).not.toBe(first.files[0]?.id);
  const same = await say(server, shell('cp a.txt b; mv b a.txt; touch a.txt'), second);
  expect(same.files).toEqual(second.files);
  const gone = await say(server, shell('rm a.txt'), same);
  expect(gone.files).toEqual([{ ...second.files[0], reins_deleted: true }]);
  for (const [{ files }, text] of [
    [first, 'one'],
    [gone, 'two'],
  ] as const)
    expect((await get(server, contentOf(files[0] ?? expect.fail()))).bytes.toString()).toBe(text);
  const again = await say(server, create('a.txt', 'three'), gone);
  expect(again.files).toHaveLength(1);
  expect(again.files[0]?.reins_deleted).toBeUndefined();
});

test('UT-21, E-131: with the terminal event the files are there; the log has them before its last event', async () => {
  const server = await open();
  const uhp = connectTo(server.url, ownerKey);
  const { frames } = await uhp.stream({ input: create('a.txt', 'one') });
  const types: string[] = [];
  for await (const frame of frames) {
    types.push(frame.event.type);
    if (!isTerminal(frame)) continue;
    const { response } = frame.event;
    const session = String(response?.metadata['session_id']);
    expect(await filesOf(server, session)).toMatchObject([{ filename: 'a.txt' }]);
    expect((await server.call('GET', `/v1/responses/${response?.id}`)).body).toEqual(response);
    expect((await typesOfLog(server, String(response?.id))).slice(-3)).toEqual([
      'step-finished',
      'file-changed',
      'run-result',
    ]);
  }
  const told = types.map((type) => type.replace('response.', '')).slice(-4);
  expect(told).toEqual(['output_text.annotation.added', 'content_part.done', 'output_item.done', 'completed']);
});

test('B119: what leads out, is no file or is too large is neither listed nor read, and the archive names it', async () => {
  const server = await open();
  const outside = join(server.dataDir, 'outside');
  writeFileSync(outside, 'secret');
  const hostile = [
    'echo good > good.txt',
    `ln -s ${outside} link`,
    `ln -s ${server.dataDir} up`,
    `ln -s ${server.dataDir}/nowhere dangling`,
    `ln ${outside} second-name`,
    'mkfifo pipe',
    'truncate -s 10G sparse',
  ];
  const { session, files } = await say(server, shell(hostile.join('; ')));
  expect(files.map(({ filename }) => filename)).toEqual(['good.txt']);
  const archive = await entriesOf((await get(server, `/v1/sessions/${session}/files/archive`)).bytes);
  const skipped = 'dangling link pipe second-name sparse up'.split(' ');
  expect([...archive.keys()]).toEqual(['good.txt', 'REINS-SKIPPED.txt']);
  expect(archive.get('REINS-SKIPPED.txt')?.trim().split('\n').slice(1).toSorted()).toEqual(skipped);
  expect(readdirSync(join(server.dataDir, 'files', session, 'kept'))).toHaveLength(1);
  expect(existsSync(join(server.dataDir, 'nowhere'))).toBe(false);
});

test('B121, UT-29: hostile names stay inside, their headers are clean, and active content is an attachment', async () => {
  const server = await open();
  const names = [
    '<b>"x".html',
    'a\\b.svg',
    'C:d',
    'new\nline\t.js',
    "ä 'é' 🦊.txt",
    '-rf',
    `${'x'.repeat(250)}.md`,
    '...',
  ];
  const command = names.map((name) => `printf x${names.indexOf(name)} > ./${quoted(name)}`).join('; ');
  const { session, files } = await say(server, shell(`mkdir -p deep; cd deep; ${command}`));
  expect(files.map(({ filename }) => filename).toSorted()).toEqual(names.map((name) => `deep/${name}`).toSorted());
  for (const file of files) {
    const { response, bytes } = await get(server, contentOf(file));
    expect(bytes.toString()).toBe(`x${names.indexOf(file.filename.slice(5))}`);
    const disposition = response.headers.get('content-disposition') ?? '';
    expect(disposition).toMatch(/^attachment; filename/);
    expect(disposition).not.toMatch(/[^\x20-\x7e]|\.\.\/|deep/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
  }
  const archive = await entriesOf((await get(server, `/v1/sessions/${session}/files/archive`)).bytes);
  expect(archive.size).toBe(names.length);
  for (const name of archive.keys()) expect(name).toMatch(/^deep\/[^/\\:\p{Cc}]+$/u);
});

test('UD-56: an archive that cannot be made whole breaks off, one that nobody reads is closed, and the server goes on', async () => {
  const server = await open();
  const command = 'for i in 1 2 3; do head -c 30000000 /dev/urandom > $i.bin; done';
  const { session, files } = await say(server, shell(command));
  const kept = join(server.dataDir, 'files', session, 'kept');
  const isOpen = () =>
    readdirSync('/proc/self/fd').some((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(kept);
      } catch {
        return false;
      }
    });
  const client = new AbortController();
  const headers = { Authorization: `Bearer ${ownerKey}` };
  const path = `${server.url}/v1/sessions/${session}/files/archive`;
  const response = await fetch(path, { headers, signal: client.signal });
  await response.body?.getReader().read();
  await server.until(async () => isOpen());
  client.abort();
  await server.until(async () => !isOpen());
  for (const name of readdirSync(kept)) truncateSync(join(kept, name), 10);
  await expect(get(server, path)).rejects.toThrow();
  expect((await fetch(path, { headers, method: 'HEAD' })).headers.get('content-type')).toBe('application/zip');
  expect(await filesOf(server, session)).toEqual(files);
});

test('F3: what a task made before the server was killed is an artifact of it, whoever ends it', async () => {
  const data = temporaryFolder();
  writeFileSync(join(data, 'config.json'), JSON.stringify({ agent: { shell: { kind: 'host' } } }));
  const first = await startProcess(data, { REINS_DEMO_SPEED: 'full' });
  const input = shell('echo early > early.txt; sleep 20');
  const { body } = await first.uhp.create({ input, background: true });
  const session = body.metadata['session_id'];
  await expect.poll(() => existsSync(join(data, 'workspaces', session, 'early.txt')), { timeout: 5_000 }).toBe(true);
  await first.kill();
  const second = await startProcess(data, { REINS_DEMO_SPEED: 'full' });
  const status = async () => (await second.uhp.get(body.id)).body.status;
  await expect.poll(status, { timeout: 10_000 }).toBe('completed');
  const listed = await second.uhp.send('GET', `/v1/sessions/${session}/files`);
  expect(listed.body).toMatchObject({ files: [{ filename: 'early.txt' }] });
  await second.kill();
}, 20_000);

async function typesOfLog({ dataDir }: RunningServer, response: string): Promise<readonly string[]> {
  await using store = await openStoreOf(dataDir);
  const runId = runIds.parse(response) ?? expect.fail();
  return (await store.readEvents(runId, { after: 0, limit: 1_000 })).map(({ type }) => type);
}

test('U-407, UD-57: a preview is a PDF or an error, never a broken one; an unknown file is unknown first', async () => {
  // Not below /tmp, which the sandbox of the converter has of its own.
  const place = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : temporaryFolder(), 'reins-converter-'));
  cleanups.push(async () => rmSync(place, { recursive: true, force: true }));
  const converter = join(place, 'converter');
  const script =
    'for in; do :; done; [ "$(cat "$in")" = bad ] && exit 1; d="$(dirname "$in")"; mkdir "$d/out"; printf "%%PDF-1" > "$d/out/document.pdf"';
  writeFileSync(converter, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const server = await startServer({ files: { converter } });
  cleanups.push(() => server.close());
  const good = await say(server, create('a.docx', 'good'));
  const bad = await say(server, create('a.docx', 'bad'), good);
  const preview = async ([file]: readonly Listed[]) =>
    get(server, contentOf(file ?? expect.fail()).replace(/content$/, 'pdf'));
  const { response, bytes } = await preview(good.files);
  expect([response.status, response.headers.get('content-type'), bytes.toString()]).toEqual([
    200,
    'application/pdf',
    '%PDF-1',
  ]);
  expect(response.headers.get('content-disposition')).toBe('attachment; filename=a.docx.pdf');
  const failed = await preview(bad.files);
  expect([failed.response.status, failed.bytes.toString()]).toEqual([502, expect.stringContaining('"preview_failed"')]);
  expect((await preview(good.files.map((file) => ({ ...file, id: 'file_none' })))).response.status).toBe(404);
});

const quoted = (name: string) => `'${name.replaceAll("'", `'\\''`)}'`;

test('X-08: no spelling of an id reaches outside its container', async () => {
  const server = await open();
  await server.call('POST', '/v1/responses', { input: create('a.txt', 'one') });
  for (const id of ['..%2f..%2fkey', '%2e%2e', '..', '..%5c..%5ckey', 'a%00b', '%252e%252e%252fkey', '....//key']) {
    for (const path of [`/v1/containers/${id}/files/${id}/content`, `/v1/containers/cntr_x/files/${id}/content`]) {
      const { response, bytes } = await get(server, `${server.url}${path}`.replace(/^http:\/\/[^/]+/, ''));
      expect([path, response.status]).toEqual([path, response.status === 400 ? 400 : 404]);
      expect(bytes.toString()).toContain('"error"');
    }
  }
});

test('UD-56, UD-57: the archive holds every artifact, an empty session gives an empty one; without a converter 501', async () => {
  const server = await open();
  const { body } = await server.call('POST', '/v1/responses', { input: create('deep/b.txt', 'x') });
  const session = (body['metadata'] as { session_id: string }).session_id;
  const archive = await get(server, `/v1/sessions/${session}/files/archive`);
  expect(archive.response.headers.get('content-type')).toBe('application/zip');
  expect([...(await entriesOf(archive.bytes))]).toEqual([['deep/b.txt', 'x']]);
  const none = await server.call('POST', '/v1/responses', { input: 'Reply with exactly: ok' });
  const empty = (none.body['metadata'] as { session_id: string }).session_id;
  const none_ = await get(server, `/v1/sessions/${empty}/files/archive`);
  expect((await entriesOf(none_.bytes)).size).toBe(0);
  expect((await get(server, `/v1/sessions/hsessnone/files/archive`)).response.status).toBe(404);
  const [file] = (await server.call('GET', `/v1/sessions/${session}/files`)).body['files'] as {
    id: string;
    container_id: string;
  }[];
  const preview = await get(server, `/v1/containers/${file?.container_id}/files/${file?.id}/pdf`);
  expect([501, 200]).toContain(preview.response.status);
  expect((await get(server, `/v1/containers/${file?.container_id}/files/file_none/pdf`)).response.status).toBe(404);
});

/** Names and texts. */
function entriesOf(zip: Buffer): Promise<ReadonlyMap<string, string>> {
  return new Promise((resolve, reject) => {
    const entries = new Map<string, string>();
    fromBuffer(zip, { lazyEntries: true }, (error, file) => {
      if (error !== null || file === undefined) return reject(error);
      file.on('error', reject);
      file.on('end', () => resolve(entries));
      file.on('entry', (entry: Entry) =>
        file.openReadStream(entry, (cause, stream) => {
          if (cause !== null || stream === undefined) return reject(cause);
          textOf(stream).then((content) => {
            entries.set(entry.fileName, content);
            file.readEntry();
          }, reject);
        }),
      );
      file.readEntry();
    });
  });
}
