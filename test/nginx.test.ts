// A real nginx in front of a whole server (B032, B033): one that was left as it is installed, and the one of `deploy/`.

import { freePort } from './support/free-port.ts';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { connectTo } from './support/uhp.ts';
import { shareFolder } from './support/shared-folder.ts';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';

const isInstalled = spawnSync('nginx', ['-v']).status === 0;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** nginx with these `server` blocks and gzip for everything; resolves when it answers. */
async function startNginx(blocks: string, port: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reins-nginx-'));
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const main = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
    http { access_log off; gzip on; gzip_types *; gzip_min_length 0; ${paths.join(' ')} ${blocks} }`;
  await writeFile(join(folder, 'nginx.conf'), main);
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
  cleanups.push(async () => {
    child.kill('SIGQUIT');
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

async function shippedText(name: string): Promise<string> {
  return readFile(`${import.meta.dirname}/../deploy/${name}`, 'utf8');
}

function withoutTls(text: string, port: number): string {
  return text.replace('listen 443 ssl;', `listen 127.0.0.1:${port};`).replaceAll(/^ *ssl_.*$/gm, '');
}

async function open(block: typeof plainBlock | typeof shippedBlock): Promise<{ url: string; server: RunningServer }> {
  const server = await startServer({ demo: { speed: 'human' } });
  cleanups.push(() => server.close());
  const port = await freePort();
  await startNginx(await block(port, server.url), port);
  return { url: `http://127.0.0.1:${port}`, server };
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

  test('two servers over one store behind the file for nodes: one that is gone is passed over, also by what starts a task', async () => {
    const folder = await shareFolder();
    const [one, two] = await Promise.all([folder.start(), folder.start()]);
    const port = await freePort();
    const shipped = await shippedText('nginx.nodes.conf');
    const block = withoutTls(shipped, port).replaceAll(/^ *server node3.*$/gm, '');
    const hosts = [one, two].map(({ uhp }) => new URL(uhp.url).host);
    await startNginx(
      block.replace('node1.internal:4242', hosts[0] ?? '').replace('node2.internal:4242', hosts[1] ?? ''),
      port,
    );
    const balanced = connectTo(`http://127.0.0.1:${port}`);
    const ask = async () => (await balanced.create({ input: 'hi' })).status;
    expect([await ask(), await ask()]).toEqual([200, 200]);
    await one.kill();
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 200]);
  });

  test.each(['nginx.conf', 'nginx.nodes.conf'])(
    'the shipped %s is one that nginx takes as it stands, certificate and all',
    async (name) => {
      const folder = await mkdtemp(join(tmpdir(), 'reins-nginx-'));
      cleanups.push(() => rm(folder, { recursive: true, force: true }));
      const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
      const subject = ['-subj', '/CN=reins.example.com', '-nodes', '-days', '1'];
      execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-keyout', key, '-out', cert, ...subject], {
        stdio: 'ignore',
      });
      // Names that lead nowhere here are looked up when it starts.
      const shipped = (await shippedText(name)).replaceAll(/node\d\.internal/g, '127.0.0.1');
      const block = shipped.replace(/\/etc\/\S*fullchain.pem/, cert).replace(/\/etc\/\S*privkey.pem/, key);
      await writeFile(join(folder, 'nginx.conf'), `error_log stderr; pid ${folder}/pid; events {} http { ${block} }`);
      expect(
        spawnSync('nginx', ['-t', '-p', folder, '-c', join(folder, 'nginx.conf')], { encoding: 'utf8' }).stderr,
      ).toContain('syntax is ok');
    },
  );
});
