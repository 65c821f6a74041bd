// What a harness brings to its runs, over real HTTP with real MCP servers (UP-37, UP-50 to UP-53, UT-26, UT-27, P-11).

import { afterEach, describe, expect, test } from 'vitest';
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { findProgram } from '../src/process/find-program.ts';
import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import { startServer, type RunningServer } from './support/in-process-server.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Servers of harnesses may lie on this machine, as those of these tests do. */
async function open(agent = {}): Promise<RunningServer> {
  const server = await startServer({ agent: { fetchHosts: ['127.0.0.1'], ...agent } });
  cleanups.push(() => server.close());
  return server;
}

/** Streamable HTTP with one tool, as small as the protocol lets it be. */
async function mcpServer(name = 'uhp_echo') {
  const seen: { authorization: string | undefined; method: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      const message = body === '' ? {} : JSON.parse(body);
      seen.push({ authorization: request.headers.authorization, method: message.method });
      if (request.method !== 'POST') return response.writeHead(405).end();
      if (message.id === undefined) return response.writeHead(202).end();
      const result = answerTo(message, name);
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/mcp`, seen };
}

function answerTo(message: { method: string; params?: { arguments?: { text?: string } } }, name: string): unknown {
  if (message.method === 'initialize')
    return {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'fixture', version: '1' },
    };
  if (message.method === 'tools/list') {
    const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
    return { tools: [{ name, description: 'Echoes backwards.', inputSchema }] };
  }
  const text = `UHP-FIXTURE:${(message.params?.arguments?.text ?? '').split('').toReversed().join('')}`;
  return { content: [{ type: 'text', text }] };
}

const schema = (kind: string) => `https://agent-plugins.org/schemas/1.0.0/${kind}.schema.json`;
const call = (text: string) =>
  `Call the tool uhp_echo with the text ${text} and reply with exactly what it returns, nothing else.`;

function plugin(server: Record<string, unknown>, more: { path: string; content: string }[] = []) {
  const file = (path: string, value: unknown) => ({ path, content: JSON.stringify(value) });
  return {
    files: [
      file('plugin.json', { $schema: schema('plugin'), name: 'fixture-plugin' }),
      file('mcp.json', { $schema: schema('mcp'), mcpServers: { fixture: server } }),
      ...more,
    ],
  };
}

async function harnessWith(server: RunningServer, body: Record<string, unknown>): Promise<string> {
  const made = await server.call('POST', '/v1/harnesses', { base: 'native', ...body });
  expect([made.status, made.body['error']]).toEqual([200, undefined]);
  return String(made.body['id']);
}

async function run(server: RunningServer, harness: string, input: string) {
  const { body } = await server.call('POST', '/v1/responses', { input, metadata: { harness_id: harness } });
  return { body, text: JSON.stringify(body['output']), metadata: body['metadata'] as Record<string, unknown> };
}

test('P-11: the agent calls a tool of a plugin through its server, without being asked', async () => {
  const [server, mcp] = [await open(), await mcpServer()];
  const harness = await harnessWith(server, { plugins: [plugin({ type: 'streamable-http', url: mcp.url })] });
  const { text, body } = await run(server, harness, call('a1b2'));
  expect(body['status']).toBe('completed');
  expect(text).toContain('UHP-FIXTURE:2b1a');
});

test('UD-37, U-113: the token of a server reaches that server, and nothing else', async () => {
  const [server, mcp] = [await open(), await mcpServer()];
  const secret = 'canary-of-this-test';
  const harness = await harnessWith(server, { mcp_servers: [{ name: 'fixture', url: mcp.url, auth: secret }] });
  const { text, body } = await run(server, harness, call('xyz'));
  expect(text).toContain('UHP-FIXTURE:zyx');
  expect(mcp.seen.every(({ authorization }) => authorization === `Bearer ${secret}`)).toBe(true);
  const responses = [
    await server.call('GET', `/v1/harnesses/${harness}`),
    await server.call('GET', `/v1/responses/${String(body['id'])}`),
  ];
  expect(JSON.stringify(responses.map((each) => each.body))).not.toContain(secret);
  const env = await run(server, harness, 'Run this shell command and reply with its output only, nothing else: env');
  expect(env.text).not.toContain(secret);
  expect(tablesWith(server, secret)).toEqual(['harnesses']);
});

/** Where in the store a text is found. */
function tablesWith({ dataDir }: RunningServer, text: string): readonly unknown[] {
  using database = new DatabaseSync(join(dataDir, 'reins.db'), { readOnly: true });
  const names = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
  const holds = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value) : String(value)).includes(text);
  return names
    .map(({ name }) => name)
    .filter((name) =>
      database
        .prepare(`SELECT * FROM "${String(name)}"`)
        .all()
        .some((row) => Object.values(row).some(holds)),
    );
}

test('UT-26: a disabled server is never contacted; one that cannot be reached fails no task and is named', async () => {
  const [server, mcp] = [await open(), await mcpServer()];
  const harness = await harnessWith(server, {
    mcp_servers: [
      { name: 'off', url: mcp.url, enabled: false },
      { name: 'gone', url: 'http://127.0.0.1:1/mcp' },
    ],
  });
  const { body, metadata } = await run(server, harness, 'Reply with exactly: ok');
  expect(body['status']).toBe('completed');
  expect(metadata['reins_degraded']).toEqual(['mcp:gone']);
  expect(mcp.seen).toEqual([]);
});

test('UR-52: a server inside of the network is refused in a write, or not connected to, unless it is allowed', async () => {
  const [server, mcp] = [await open({ fetchHosts: [] }), await mcpServer()];
  const made = (body: object) => server.call('POST', '/v1/harnesses', { base: 'native', ...body });
  const direct = await made({ mcp_servers: [{ name: 'fixture', url: mcp.url }] });
  expect([direct.status, direct.body['error']]).toEqual([
    400,
    expect.objectContaining({ code: 'invalid_input', param: 'mcp_servers[0].url' }),
  ]);
  const packaged = await made({ plugins: [plugin({ type: 'streamable-http', url: mcp.url })] });
  const detail = expect.objectContaining({ path: 'mcp.json#/mcpServers/fixture' });
  expect([packaged.status, packaged.body['error']]).toEqual([
    422,
    expect.objectContaining({ code: 'plugin_invalid', detail }),
  ]);
  const url = mcp.url.replace('127.0.0.1', 'localhost');
  const harness = await harnessWith(server, { mcp_servers: [{ name: 'fixture', url }] });
  const { metadata } = await run(server, harness, 'Reply with exactly: ok');
  expect(metadata['reins_degraded']).toEqual(['mcp:fixture']);
  expect(mcp.seen).toEqual([]);
});

test('UT-27: a disabled tool of a server is not offered, and its call runs nothing', async () => {
  const [server, mcp] = [await open(), await mcpServer()];
  const harness = await harnessWith(server, {
    mcp_servers: [{ name: 'fixture', url: mcp.url }],
    disabled_tools: ['fixture_uhp_echo'],
  });
  const { text } = await run(server, harness, call('abc'));
  expect(text).not.toContain('UHP-FIXTURE:cba');
  expect(mcp.seen.filter(({ method }) => method === 'tools/call')).toEqual([]);
});

test('UP-38: a tool goes by the name of its server, so that two servers of one tool do not hide each other', async () => {
  const [server, a, b] = [await open(), await mcpServer(), await mcpServer()];
  const harness = await harnessWith(server, {
    mcp_servers: [
      { name: 'one', url: a.url },
      { name: 'two', url: b.url },
    ],
  });
  const { text } = await run(server, harness, 'Call the tool two_uhp_echo with {"text": "abc"}');
  expect(text).toContain('UHP-FIXTURE:cba');
  expect(a.seen.some(({ method }) => method === 'tools/call')).toBe(false);
});

test('UP-38: where the server has one of that name as well, that of the harness is meant', async () => {
  const [ofServer, own] = [await mcpServer(), await mcpServer()];
  const server = await open({ mcp: [{ name: 'fixture', transport: 'http', url: ofServer.url }] });
  const harness = await harnessWith(server, { mcp_servers: [{ name: 'fixture', url: own.url }] });
  const { text, body } = await run(server, harness, call('abc'));
  expect(body['status']).toBe('completed');
  expect(text).toContain('UHP-FIXTURE:cba');
  const calls = [ofServer, own].map(({ seen }) => seen.filter(({ method }) => method === 'tools/call').length);
  expect(calls).toEqual([0, 1]);
});

test('U-123, UP-37: skills of a harness and of its plugins are read by the agent, other files of theirs, too', async () => {
  const server = await open();
  const skill = (name: string, body: string) => `---\nname: ${name}\ndescription: About ${name}.\n---\n${body}\n`;
  const harness = await harnessWith(server, {
    skills: [
      {
        name: 'own',
        files: [
          { path: 'SKILL.md', content: 'No front matter: OWN-TEXT' },
          { path: 'more/a.md', content: 'OWN-MORE' },
        ],
      },
    ],
    plugins: [
      plugin({ type: 'sse', url: 'http://127.0.0.1:1/' }, [
        { path: 'skills/theirs/SKILL.md', content: skill('theirs', 'THEIR-TEXT') },
      ]),
    ],
  });
  expect((await run(server, harness, 'Call the tool read_skill with {"name": "own"}')).text).toContain('OWN-TEXT');
  expect(
    (await run(server, harness, 'Call the tool read_skill with {"name": "own", "file": "more/a.md"}')).text,
  ).toContain('OWN-MORE');
  expect((await run(server, harness, 'Call the tool read_skill with {"name": "theirs"}')).text).toContain('THEIR-TEXT');
});

/** An MCP server over stdio as a program of a package. */
const program = `#!/usr/bin/env node
const fs = require('node:fs');
const report = { root: process.env.PLUGIN_ROOT, data: process.env.PLUGIN_DATA, own: process.env.OWN, key: process.env.REINS_API_KEY ?? null, cwd: process.cwd(), args: process.argv.slice(2) };
fs.writeFileSync(process.env.PLUGIN_DATA + '/kept', 'x');
for (const [name, path] of [['inRoot', process.env.PLUGIN_ROOT + '/x'], ['beside', process.env.PLUGIN_ROOT + '/../x'], ['host', '/usr/reins-x']])
  try { fs.writeFileSync(path, 'x'); report[name] = 'written'; } catch { report[name] = 'refused'; }
let buffer = '';
process.stdin.on('data', (piece) => {
  buffer += piece;
  for (let end = buffer.indexOf('\\n'); end !== -1; end = buffer.indexOf('\\n')) {
    const message = JSON.parse(buffer.slice(0, end));
    buffer = buffer.slice(end + 1);
    if (message.id === undefined) continue;
    const result = message.method === 'initialize'
      ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
      : message.method === 'tools/list'
        ? { tools: [{ name: 'uhp_echo', description: 'x', inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } }] }
        : { content: [{ type: 'text', text: JSON.stringify(report) }] };
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }) + '\\n');
  }
});
`;

/** What runs on this machine with that argument. */
const programsWith = (argument: string) =>
  globSync('/proc/[0-9]*/cmdline').filter((path) => {
    try {
      return readFileSync(path, 'utf8').split('\0').includes(argument);
    } catch {
      return false;
    }
  });

describe.skipIf(findProgram('bwrap', process.env['PATH']) === null)(
  'programs of plugins, where bubblewrap is installed',
  () => {
    const stdio = {
      type: 'stdio',
      command: './bin/server.js',
      args: ['--at', '${PLUGIN_DATA}', '$HOME'],
      env: { OWN: '${PLUGIN_ROOT}/x' },
    };

    test('UP-50 to UP-52: one runs in the sandbox, with its package read-only and a folder of its own', async () => {
      const server = await open();
      const harness = await harnessWith(server, {
        plugins: [plugin(stdio, [{ path: 'bin/server.js', content: program }])],
      });
      const { text, metadata, body } = await run(server, harness, call('a'));
      expect([body['status'], metadata['reins_degraded']]).toEqual(['completed', undefined]);
      const data = join(server.dataDir, 'plugin-data', String(metadata['session_id']), 'fixture-plugin');
      const said = text.replaceAll('\\', '');
      expect(said).toContain(`"data":"${data}"`);
      expect(said).toContain(`"args":["--at","${data}","$HOME"]`);
      expect(said).toMatch(/"own":"[^"]+\/bundles\/[0-9a-f]+\/x"/);
      expect(said).toContain('"key":null');
      for (const name of ['inRoot', 'beside', 'host']) expect(said).toContain(`"${name}":"refused"`);
      expect(existsSync(join(data, 'kept'))).toBe(true);
      expect(programsWith(data)).not.toEqual([]);
      await server.call('DELETE', `/v1/sessions/${String(metadata['session_id'])}`);
      expect(await readdir(join(server.dataDir, 'plugin-data'))).toEqual([]);
      expect(programsWith(data)).toEqual([]);
    });

    test('UP-50: where commands are only interpreted it is missing, and named', async () => {
      const server = await open({ shell: { kind: 'interpreted' } });
      const harness = await harnessWith(server, {
        plugins: [plugin(stdio, [{ path: 'bin/server.js', content: program }])],
      });
      const { body, metadata } = await run(server, harness, 'Reply with exactly: ok');
      expect([body['status'], metadata['reins_degraded']]).toEqual(['completed', ['mcp:fixture']]);
    });
  },
);
