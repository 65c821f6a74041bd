// A real nginx in front of a whole server (B032, B033): one that was left as it is installed, and the one of `deploy/`.

import { freePort } from './support/free-port.ts';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { begin, shareFolder } from './support/shared-folder.ts';
import { connectTo, ended, key, type Uhp } from './support/uhp.ts';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';

const isInstalled = spawnSync('nginx', ['-v']).status === 0;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** nginx with these `server` blocks and gzip for everything; resolves when it answers. */
async function startNginx(blocks: string, port: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reins-nginx-'));
  await chmod(folder, 0o711); // where this user is root, nginx works as another one, and keeps long bodies there
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const main = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
    http { access_log off; gzip on; gzip_types *; gzip_min_length 0; ${paths.join(' ')} ${blocks} }`;
  await writeFile(join(folder, 'nginx.conf'), main);
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
  cleanups.push(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
    await rm(folder, { recursive: true, force: true });
  });
  await expect
    .poll(() =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    .toBe(true);
}

const plainBlock = (port: number, upstream: string) =>
  `server { listen 127.0.0.1:${port}; location / { proxy_pass ${upstream}; } }`;

/** The block that ships, on a port without TLS. */
async function shippedBlock(port: number, upstream: string): Promise<string> {
  return withoutTls(await shippedText('nginx.conf'), port).replace('http://127.0.0.1:4242', upstream);
}

/** The file for nodes with these for its three, the first once more where there are fewer. */
async function nodesBlock(port: number, ...urls: readonly string[]): Promise<string> {
  const shipped = withoutTls(await shippedText('nginx.nodes.conf'), port);
  return shipped.replaceAll(/node(\d)\.internal:4242/g, (_, nth) => new URL(urls[nth - 1] ?? urls[0] ?? '').host);
}

async function openNodes(...nodes: readonly Pick<Uhp, 'url'>[]): Promise<Uhp> {
  const port = await freePort();
  await startNginx(await nodesBlock(port, ...nodes.map(({ url }) => url)), port);
  return connectTo(`http://127.0.0.1:${port}`);
}

async function shippedText(name: string): Promise<string> {
  return readFile(`${import.meta.dirname}/../deploy/${name}`, 'utf8');
}

function withoutTls(text: string, port: number): string {
  return text.replace('listen 443 ssl;', `listen 127.0.0.1:${port};`).replaceAll(/^ *ssl_.*$/gm, '');
}

async function open(
  block: typeof plainBlock | typeof shippedBlock | typeof nodesBlock,
): Promise<{ url: string; server: RunningServer }> {
  const server = await startServer({ demo: { speed: 'human' } });
  cleanups.push(() => server.close());
  const port = await freePort();
  await startNginx(await block(port, server.url), port);
  return { url: `http://127.0.0.1:${port}`, server };
}

function upload({ url }: Uhp, content: string): Promise<Response> {
  const body = new FormData();
  body.set('file', new Blob([content]), 'note.txt');
  return fetch(`${url}/v1/files`, { method: 'POST', headers: { Authorization: `Bearer ${key}` }, body });
}

/** When each piece of a stream came, in ms from the request, and all of it. */
async function readTimed(
  url: string,
): Promise<{ readonly timesMs: readonly number[]; readonly text: string; readonly headers: Headers }> {
  const from = performance.now();
  const answer = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json', 'Accept-Encoding': 'gzip' },
    body: JSON.stringify({ input: 'Count slowly from 1 to 20', model: 'demo', stream: true }),
  });
  const timesMs: number[] = [];
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of answer.body ?? []) {
    timesMs.push(performance.now() - from);
    text += decoder.decode(chunk, { stream: true });
  }
  return { timesMs, text, headers: answer.headers };
}

describe.skipIf(!isInstalled)('behind nginx', () => {
  test.each([
    ['left as it is, with gzip for all', plainBlock],
    ['as shipped', shippedBlock],
    ['as shipped for nodes', nodesBlock],
  ] as const)('B032, B033: events come one by one through one %s', async (_, block) => {
    const { url } = await open(block);
    const { timesMs, text } = await readTimed(url);
    expect(text).toContain('response.completed');
    expect(timesMs.at(0)).toBeLessThan(1_000);
    // Spread over the whole answer, not in a lump at its end.
    const lastMs = timesMs.at(-1) ?? 0;
    expect(timesMs.filter((ms) => ms < lastMs / 2).length).toBeGreaterThan(3);
    expect(timesMs.length).toBeGreaterThan(10);
  });

  test(
    'B029, B033: a silence longer than the read limit of a proxy does not cut a stream',
    { timeout: 40_000 },
    async () => {
      const limit = (port: number, upstream: string) =>
        plainBlock(port, upstream).replace('location', 'proxy_read_timeout 17s; location');
      const { url, server } = await open(limit);
      const { body } = await server.call('GET', '/v1/harnesses');
      const [harness] = body['harnesses'] as readonly { readonly id: string }[];
      const from = performance.now();
      const leave = new AbortController();
      const answer = await fetch(`${url}/v1/harnesses/${harness?.id}/events`, {
        headers: { Authorization: `Bearer ${ownerKey}` },
        signal: leave.signal,
      });
      expect(answer.status).toBe(200);
      let text = '';
      let state: 'open' | 'cut' = 'open';
      const reading = (async () => {
        for await (const chunk of answer.body ?? []) text += new TextDecoder().decode(chunk);
      })().then(
        () => (state = 'cut'),
        () => (state = 'cut'),
      );
      await expect.poll(() => performance.now() - from, { timeout: 30_000, interval: 200 }).toBeGreaterThan(19_000);
      expect([state, text]).toEqual(['open', expect.stringContaining(': keep-alive')]);
      leave.abort();
      await reading;
    },
  );

  test('E-834: of the file for nodes one closes, one is gone, one serves: every task is taken, none twice, every upload comes in', async () => {
    const folder = await shareFolder({ settings: { limits: { withdrawSeconds: 0, drainSeconds: 30 } } });
    const [closing, gone, serving] = await Promise.all([folder.start(), folder.start(), folder.start()]);
    const balanced = await openNodes(closing.uhp, gone.uhp, serving.uhp);
    const id = await begin(closing, 'held');
    closing.process.child.kill('SIGTERM');
    await expect.poll(() => closing.uhp.create({ input: 'x' })).toMatchObject({ status: 503 });
    await gone.kill();
    const bodyOfSize = (bytes: number, nth: number) => ({ input: `task ${nth} ${'x'.repeat(bytes)}` });
    const asked = Array.from({ length: 12 }, (_, nth) => bodyOfSize(nth % 2 === 0 ? 0 : 300_000, nth));
    const answers = await Promise.all(asked.map((body) => balanced.create(body)));
    expect(answers.map(({ status }) => status)).toEqual(asked.map(() => 200));
    for (const { input } of asked) expect(folder.model.asked(input)).toHaveLength(1);
    // What is at work where nothing is begun any more is read, and ended, through any of them.
    expect(await balanced.get(id)).toMatchObject({ status: 200, body: { status: 'in_progress' } });
    for (let nth = 0; nth < 4; nth += 1) expect((await upload(balanced, 'of a file')).status).toBe(200);
    folder.gate.open();
    expect((await ended(balanced, id)).status).toBe('completed');
  });

  test('E-834: who waits at a server that goes is told so, and nobody else is asked to begin the task again', async () => {
    const folder = await shareFolder({ settings: { limits: { withdrawSeconds: 0, drainSeconds: 0 } } });
    const [going, staying] = await Promise.all([folder.start(), folder.start()]);
    const balanced = await openNodes(going.uhp, staying.uhp);
    const inputs = Array.from({ length: 10 }, (_, nth) => `held ${nth}`);
    const answers = Promise.all(inputs.map((input) => balanced.create({ input })));
    await expect
      .poll(() => inputs.every((input) => folder.model.asked(input).length > 0), { timeout: 15_000 })
      .toBe(true);
    going.process.child.kill('SIGTERM');
    await going.process.ended;
    folder.gate.open();
    const statuses = (await answers).map(({ status, code }) => (status === 200 ? status : [status, code]));
    expect(statuses).toContainEqual([504, 'reins_closing']);
    expect((await balanced.send('GET', '/v1/sessions')).body['sessions']).toHaveLength(inputs.length);
  });

  test('UD-59: what all servers refuse is refused in their own words, again and again, and reading goes on', async () => {
    const folder = await shareFolder({ settings: { limits: { concurrentTasks: 1, queuedTasks: 0 } } });
    const servers = await Promise.all([folder.start(), folder.start()]);
    const balanced = await openNodes(...servers.map(({ uhp }) => uhp));
    const held = await Promise.all(servers.map((server) => begin(server, 'held')));
    for (let nth = 0; nth < 8; nth += 1) {
      const refused = await balanced.create({ input: 'one more' });
      expect(refused).toMatchObject({ status: 503, code: 'harness_unavailable' });
      expect(refused.headers.get('retry-after')).toBe('5');
      expect((await balanced.get(held[nth % 2] ?? '')).status).toBe(200);
    }
    folder.gate.open();
    for (const id of held) await ended(balanced, id);
    expect((await balanced.create({ input: 'one more' })).status).toBe(200);
  });

  test.each(['nginx.conf', 'nginx.nodes.conf'])(
    'the shipped %s is one that nginx takes as it stands, certificate and all',
    async (name) => {
      const folder = await mkdtemp(join(tmpdir(), 'reins-nginx-'));
      cleanups.push(() => rm(folder, { recursive: true, force: true }));
      const [cert, certKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
      const subject = ['-subj', '/CN=reins.example.com', '-nodes', '-days', '1'];
      execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-keyout', certKey, '-out', cert, ...subject], {
        stdio: 'ignore',
      });
      // Names that lead nowhere here are looked up when it starts.
      const shipped = (await shippedText(name)).replaceAll(/node\d\.internal/g, '127.0.0.1');
      const block = shipped.replace(/\/etc\/\S*fullchain.pem/, cert).replace(/\/etc\/\S*privkey.pem/, certKey);
      await writeFile(join(folder, 'nginx.conf'), `error_log stderr; pid ${folder}/pid; events {} http { ${block} }`);
      expect(
        spawnSync('nginx', ['-t', '-p', folder, '-c', join(folder, 'nginx.conf')], { encoding: 'utf8' }).stderr,
      ).toContain('syntax is ok');
    },
  );
});
