import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { createFetchUrl } from './fetch-url.ts';
import { redirectTarget } from '../net/open-url.ts';
import { toolContext } from '../../testing/tool-context.ts';
import type { HostRules } from '../../net/public-host.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A real server on loopback; its address with port. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const local: HostRules = { allowHosts: ['127.0.0.1'] };
const fetchUrl = (url: string, rules: HostRules = local, signal = new AbortController().signal) =>
  createFetchUrl(rules).run({ url }, toolContext({ signal }));
const answering =
  (headers: Record<string, string>, body: string | Uint8Array = '', status = 200): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body);

describe('what is given', () => {
  test('9.6: the text, behind the URL and the status', async () => {
    const host = await serve(answering({ 'content-type': 'application/json' }, '{"a":1}'));
    expect(await fetchUrl(`http://${host}/x?y=1`)).toEqual({
      content: `http://${host}/x?y=1\nStatus: 200 (application/json)\n\n{"a":1}`,
    });
  });

  test('readable text of an HTML page, links made absolute', async () => {
    const html = '<title>T</title><script>x</script><p>See <a href="/b">this</a>';
    const host = await serve(answering({ 'content-type': 'text/html' }, html));
    expect((await fetchUrl(`http://${host}/a`)).content).toMatch(
      `(text/html)\n\nTitle: T\n\nSee this (http://${host}/b)`,
    );
  });

  test.each([
    ['text/plain; charset=ISO-8859-1', Buffer.from('caf\u00e9', 'latin1'), 'café'],
    ['text/plain; charset="utf-16le"', Buffer.from('café', 'utf16le'), 'café'],
    ['text/html', Buffer.from('<meta charset="windows-1252"><p>\u0093', 'latin1'), '“'],
    ['text/xml', Buffer.from('<?xml version="1.0" encoding="iso-8859-1"?><a>\u00e9</a>', 'latin1'), '<a>é</a>'],
    ['text/plain; charset=nonsense', Buffer.from('café'), 'café'],
    ['text/plain', Buffer.from([0x61, 0xff, 0x62]), 'a\ufffdb'],
  ])('E-551: text in its declared encoding: %s', async (type, body, text) => {
    const host = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': type });
      // Byte by byte, so that characters are spread over chunks.
      for (const byte of body) response.write(Buffer.of(byte));
      response.end();
    });
    expect((await fetchUrl(`http://${host}/`)).content.endsWith(text)).toBe(true);
  });

  test('packed text, unpacked', async () => {
    for (const [encoding, pack] of [
      ['gzip', gzipSync],
      ['br', brotliCompressSync],
    ] as const) {
      const host = await serve(
        answering({ 'content-type': 'text/plain', 'content-encoding': encoding }, pack('packed')),
      );
      expect((await fetchUrl(`http://${host}/`)).content).toMatch(/\n\npacked$/);
    }
  });

  test('E-552: an image as media; of other bytes a sentence with type and size', async () => {
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47]);
    const image = await serve(answering({ 'content-type': 'image/png' }, bytes));
    const { content, media = [] } = await fetchUrl(`http://${image}/`);
    expect(content).toMatch(/\[The image has 4 bytes\.\]$/);
    expect(media.map(({ mediaType, data }) => [mediaType, [...data]])).toEqual([['image/png', [...bytes]]]);
    const pdf = await serve(
      answering({ 'content-type': 'application/pdf', 'content-length': '1000' }, Buffer.alloc(1000)),
    );
    expect((await fetchUrl(`http://${pdf}/`)).content).toMatch(/\(application\/pdf\)\n\n.*it has 1000 bytes/);
  });

  test('E-514: a status that is no success is an error with a short part of the body', async () => {
    const host = await serve(answering({ 'content-type': 'text/plain' }, 'no '.repeat(10_000), 503));
    const { content, isError } = await fetchUrl(`http://${host}/`);
    expect(isError).toBe(true);
    expect(content).toMatch(/Status: 503 \(text\/plain\)\n\nno no/);
    expect(content.length).toBeLessThan(2200);
  });

  test('nothing, where there is no text', async () => {
    const host = await serve(answering({ 'content-type': 'text/plain' }, ''));
    expect((await fetchUrl(`http://${host}/`)).content).toMatch(/\n\n\[There is no text\.\]$/);
  });
});

describe('limits', () => {
  test('a body that unpacks without end is read to 5 MiB, and the server is left', async () => {
    const bomb = gzipSync(Buffer.alloc(60 * 1024 * 1024, 'x'));
    let left = false;
    const host = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
      response.on('close', () => void (left = !response.writableFinished));
      response.write(bomb); // and no end
    });
    const { content } = await fetchUrl(`http://${host}/`);
    expect(content).toMatch(/xxx\n\[Only the first 5 MiB were read\.\]$/);
    expect(content.length).toBeLessThan(5 * 1024 * 1024 + 200);
    await expect.poll(() => left).toBe(true);
  });

  test('an image above 5 MiB is not read', async () => {
    const host = await serve(answering({ 'content-type': 'image/png' }, Buffer.alloc(6 * 1024 * 1024)));
    const output = await fetchUrl(`http://${host}/`);
    expect(output.content).toMatch('more than 5 MiB');
    expect(output.media).toBeUndefined();
  });

  test('E-536: a cancel closes the socket at once, before the headers and in the body', async () => {
    for (const begin of [false, true]) {
      let [asked, closed] = [false, false];
      const host = await serve((request, response) => {
        asked = true;
        request.socket.on('close', () => void (closed = true));
        if (begin) response.writeHead(200, { 'content-type': 'text/plain' }).write('a');
      });
      const stop = new AbortController();
      const running = fetchUrl(`http://${host}/`, local, stop.signal);
      running.catch(() => {});
      await expect.poll(() => asked).toBe(true);
      stop.abort(new Error('cancelled'));
      await expect(running).rejects.toThrow('cancelled');
      await expect.poll(() => closed).toBe(true);
    }
  });

  test('E-536: a cancel does not wait for a look-up', async () => {
    const lookup = () => new Promise<never>(() => {});
    const stop = new AbortController();
    const running = fetchUrl('http://slow.test/', { lookup }, stop.signal);
    stop.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
  });

  test('no socket is left open after a result', async () => {
    let open = 0;
    const host = await serve(answering({ 'content-type': 'application/zip' }, Buffer.alloc(1_000_000)));
    servers[0]?.on('connection', (socket) => {
      open += 1;
      socket.on('close', () => void (open -= 1));
    });
    await fetchUrl(`http://${host}/`);
    await expect.poll(() => open).toBe(0);
  });
});

describe('UR-52: where it goes', () => {
  test('only to public hosts, unless one is allowed by name', async () => {
    const host = await serve(() => expect.unreachable());
    const { port } = new URL(`http://${host}`);
    for (const name of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '[::ffff:127.0.0.1]', '169.254.169.254'])
      expect(await fetchUrl(`http://${name}:${port}/`, {})).toEqual({
        content: expect.stringMatching(/^The host '.*' is not a public one\.$/),
        isError: true,
      });
  });

  test('to the checked address: a name is looked up once, and Host stays the name', async () => {
    const hosts: (string | undefined)[] = [];
    const host = await serve((request, response) => {
      hosts.push(request.headers.host);
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
    });
    const { port } = new URL(`http://${host}`);
    const looked: string[] = [];
    const lookup = async (name: string) => {
      looked.push(name);
      return [{ address: looked.length === 1 ? '127.0.0.1' : '127.0.0.99', family: 4 }];
    };
    const url = `http://name.test:${port}/`;
    expect(await fetchUrl(url, { lookup, allowHosts: ['*.test'] })).toMatchObject({
      content: expect.stringMatching('ok'),
    });
    expect([looked, hosts]).toEqual([['name.test'], [`name.test:${port}`]]);
  });

  test('over TLS with the name of the URL', async () => {
    const hello: Buffer[] = [];
    const server = createTcpServer((socket) => {
      socket.once('data', (data) => {
        hello.push(data);
        socket.destroy();
      });
      socket.on('error', () => {});
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }];
    const url = `https://secure.test:${(server.address() as AddressInfo).port}/`;
    const output = await fetchUrl(url, { lookup, allowHosts: ['secure.test'] });
    server.close();
    expect(output).toEqual({
      content: expect.stringMatching(/^The URL could not be fetched \(\w+\)\.$/),
      isError: true,
    });
    expect(hello[0]?.includes('secure.test')).toBe(true);
  });

  test('only by http and https, without a name and password', async () => {
    for (const url of [
      'file:///etc/passwd',
      'ftp://x.test/',
      'data:text/plain,x',
      'x.test',
      '',
      'http://',
      'http://a:b@127.0.0.1/',
      'http://a@127.0.0.1/',
    ])
      expect(await fetchUrl(url)).toMatchObject({ isError: true });
  });

  test('along redirects, each checked like the first', async () => {
    const to: Record<string, string> = {
      '/start': '/next',
      '/next': 'end?a=b',
      '/inside': 'http://localhost:1/',
      '/file': 'file:///etc/passwd',
      '/named': 'http://a:b@127.0.0.1/',
      '/loop': '/loop',
    };
    const host = await serve(({ url = '' }, response) => {
      const location = to[url];
      if (location === undefined) response.writeHead(200, { 'content-type': 'text/plain' }).end(`at ${url}`);
      else response.writeHead(302, { location }).end('moved');
    });
    expect((await fetchUrl(`http://${host}/start`)).content).toBe(
      `http://${host}/end?a=b\nStatus: 200 (text/plain)\n\nat /end?a=b`,
    );
    for (const [path, why] of [
      ['/inside', "'localhost' is not a public one"],
      ['/file', 'Only http and https'],
      ['/named', 'user name'],
      ['/loop', 'more than 5 redirects'],
    ] as const)
      expect(await fetchUrl(`http://${host}${path}`)).toEqual({ content: expect.stringContaining(why), isError: true });
  });

  test('never from https down to http', () => {
    const from = new URL('https://a.test/x');
    expect(() => redirectTarget(from, 'http://a.test/')).toThrow('from https to http');
    expect(redirectTarget(from, '//b.test/y').href).toBe('https://b.test/y');
    expect(redirectTarget(new URL('http://a.test/x'), 'https://a.test/').href).toBe('https://a.test/');
  });
});

describe('E-534: what fails on the way is an error result', () => {
  test('a host that nobody knows, a closed port, a broken answer, a broken packing', async () => {
    const closed = await serve(() => {});
    servers.splice(0).forEach((server) => server.close());
    const broken = await serve(answering({ 'content-type': 'text/plain', 'content-encoding': 'gzip' }, 'not gzip'));
    const cut = await serve((request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '10' }).write('half');
      setImmediate(() => request.socket.destroy());
    });
    const lookup = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    for (const output of [
      await fetchUrl('http://unknown.test/', { lookup }),
      await fetchUrl(`http://${closed}/`),
      await fetchUrl(`http://${broken}/`),
      await fetchUrl(`http://${cut}/`),
    ])
      expect(output).toEqual({
        content: expect.stringMatching(/^The URL could not be fetched( \(\w+\))?\.$/),
        isError: true,
      });
  });
});
