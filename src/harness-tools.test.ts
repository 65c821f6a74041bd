// Real programs in the real sandbox, real HTTP, a real store. Only timers of a minute and longer wait for the test.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHarnessTools } from './harness-tools.ts';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { harnessIds, sessionIds } from './core/ids.ts';
import { join } from 'node:path';
import { openShell } from './open-shell.ts';
import { openSqlite } from './stores/sqlite/open-sqlite.ts';
import { type Store } from './stores/store.ts';
import { plainSetup, type Bundle, type HarnessSetup } from './stores/harness-record.ts';
import { secretHandle } from './core/secret-handle.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock, systemRandom } from './system.ts';
import { tmpdir } from 'node:os';
import { toolContext } from './testing/tool-context.ts';
import type { HarnessExtensions, PluginServer } from './core/run-config.ts';
import type { HostRules } from './net/public-host.ts';
import type { JsonObject } from './core/json.ts';
import type { ToolSource } from './engine/tool.ts';

const clock = {
  now: () => systemClock.now(),
  timer(ms: number, callback: () => void) {
    if (ms < 60_000) return systemClock.timer(ms, callback);
    minuteTimers.add(callback);
    return () => void minuteTimers.delete(callback);
  },
};
const minuteTimers = new Set<() => void>();
const [harnessId, sessionId] = [harnessIds.make('one'), sessionIds.make('one')];
let base: string;
let store: Store;
let log: string[];
const opened: AsyncDisposable[] = [];

beforeEach(() => {
  // Not below /tmp, which the sandbox has of its own.
  base = mkdtempSync(join(realpathSync(existsSync('/var/tmp') ? '/var/tmp' : tmpdir()), 'reins-harness-'));
  mkdirSync(join(base, 'data'));
  mkdirSync(join(base, 'work'));
  store = openSqlite(':memory:');
  log = [];
  minuteTimers.clear();
});
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

const write =
  (level: string) =>
  (message: string, facts: JsonObject = {}) =>
    void log.push(`${level}: ${message} ${JSON.stringify(facts)}`);
const logger = { info: write('info'), warn: write('warn'), error: write('error') };

const shell = () => openShell({ hidden: [join(base, 'data')] }, { clock, random: systemRandom });
const isSandboxed = (await openShell({}, { clock, random: systemRandom }))?.kind === 'sandboxed';

function open(reach: HostRules = { allowHosts: ['127.0.0.1'] }) {
  const tools = createHarnessTools({
    clock,
    logger,
    store,
    shell,
    random: systemRandom,
    version: '0',
    environment: { ...process.env, REINS_API_KEY: 'canary' },
    cwd: base,
    dataDir: join(base, 'data'),
    network: 'full',
    reach,
    skills: [],
  });
  opened.push(tools);
  return tools;
}

async function putHarness(setup: Partial<HarnessSetup> = {}, ...bundles: Bundle[]): Promise<void> {
  const skills = bundles.map(({ ref }) => ({ name: ref, enabled: true, bundle: ref }));
  await store.putHarness(
    {
      harnessId,
      principal: 'owner',
      name: 'x',
      base: 'native',
      defaultModel: null,
      systemPrompt: null,
      disabledTools: [],
      maxStep: null,
      timeoutSeconds: null,
      permissions: null,
      planning: null,
      setup: { ...plainSetup, skills, ...setup },
      createdAtMs: 0,
      deleted: false,
    },
    bundles,
  );
}

const nothing: HarnessExtensions = { mcpServers: [], skills: [], plugins: [], suppressedSkills: [] };
const runWith = (change: Partial<HarnessExtensions>, session = sessionId) => ({
  sessionId: session,
  config: { extensions: { ...nothing, ...change } },
  task: { harnessId },
});
const workspace = () => join(base, 'work');

async function listed(sources: readonly ToolSource[]) {
  const listings = await Promise.all(sources.map((source) => source.list()));
  return { tools: listings.flatMap(({ tools }) => tools), degraded: listings.flatMap(({ degraded }) => degraded) };
}
async function call(sources: readonly ToolSource[], name: string, input: JsonObject = {}): Promise<string> {
  const { tools } = await listed(sources);
  const tool = tools.findLast((each) => each.name === name);
  if (tool === undefined) throw new Error(`no ${name} among ${tools.map((each) => each.name).join()}`);
  return (await tool.run(input, toolContext({ workspace: workspace() }))).content;
}
async function until(condition: () => unknown): Promise<void> {
  for (const endMs = Date.now() + 10_000; !condition(); await pause(10))
    if (Date.now() > endMs) throw new Error(`It did not come true: ${String(condition)}`);
}

/** Holds a lock for as long as it lives, and answers with what `say` gives. */
const program = (say: string) => `#!/usr/bin/env node
const fs = require('node:fs');
const at = (name) => process.env.PLUGIN_DATA + '/' + name;
fs.closeSync(fs.openSync(at('lock'), 'wx'));
fs.appendFileSync(at('starts'), 'x');
process.on('exit', () => fs.rmSync(at('lock')));
process.on('SIGTERM', () => process.exit());
let buffer = '';
process.stdin.on('end', () => setTimeout(() => process.exit(), 300)).on('data', (piece) => {
  buffer += piece;
  for (let end = buffer.indexOf('\\n'); end !== -1; end = buffer.indexOf('\\n')) {
    const message = JSON.parse(buffer.slice(0, end));
    buffer = buffer.slice(end + 1);
    const result = {
      initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }),
      'tools/list': () => ({ tools: [{ name: 'say', inputSchema: { type: 'object' } }] }),
      'tools/call': () => ({ content: [{ type: 'text', text: String(${say}) }] }),
    }[message.method];
    if (message.id !== undefined && result) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: result() }) + '\\n');
  }
});
`;

function pluginOf(say: string, change: Partial<Extract<PluginServer, { transport: 'stdio' }>> = {}) {
  const files = [{ path: 'bin/run', content: program(say) }];
  const server = { name: 'p', transport: 'stdio', command: './bin/run', args: [], env: {}, ...change } as const;
  const plugin = { name: 'own', bundle: 'plugin', mcpServers: [server], skills: [] };
  return { bundle: { ref: 'plugin', files }, plugins: [plugin] };
}
const kept = (name: string) => join(base, 'data/plugin-data', sessionId, 'own', name);
const starts = () => readFileSync(kept('starts'), 'utf8').length;

describe.skipIf(!isSandboxed)('where there is a sandbox', () => {
  test('T2: a program serves the turns of its session, until a minute after the last', async () => {
    const { bundle, plugins } = pluginOf('process.cwd()');
    await putHarness({}, bundle);
    const tools = open();
    for (let turn = 0; turn < 3; turn++) {
      await using each = tools.open(runWith({ plugins }), workspace());
      expect(await call(each.sources, 'p_say')).toMatch(/\/data\/bundles\/[0-9a-f]{40}$/);
    }
    expect([starts(), minuteTimers.size]).toEqual([1, 1]);
    for (const fire of minuteTimers) fire();
    await until(() => !existsSync(kept('lock')));
    await using again = tools.open(runWith({ plugins }), workspace());
    await call(again.sources, 'p_say');
    expect(starts()).toBe(2);
  });

  test('T2: it ends with its session, before a minute has passed, and takes nothing from another session', async () => {
    const { bundle, plugins } = pluginOf('process.env.PLUGIN_DATA');
    await putHarness({}, bundle);
    const tools = open();
    const said = [];
    for (const session of [sessionId, sessionIds.make('two')]) {
      await using each = tools.open(runWith({ plugins }, session), workspace());
      said.push(await call(each.sources, 'p_say'));
    }
    await tools.forgetSession(sessionId);
    expect(said.map((folder) => readdirSync(folder).toSorted())).toEqual([['starts'], ['lock', 'starts']]);
    await tools.forgetSession(sessionIds.make('unknown'));
  });

  test('T2, B145: under another configuration it starts when that of the one before is gone', async () => {
    const { bundle, plugins } = pluginOf('process.argv[2]');
    await putHarness({}, bundle);
    const tools = open();
    for (const word of ['one', 'two', 'one']) {
      const changed = pluginOf('', { args: [word] }).plugins;
      await using each = tools.open(runWith({ plugins: changed }), workspace());
      expect(await call(each.sources, 'p_say')).toBe(word);
    }
    expect([starts(), plugins.length]).toEqual([3, 1]);
  });

  test('T2: sessions share no program, and closing ends all of them', async () => {
    const { bundle, plugins } = pluginOf('process.env.PLUGIN_DATA');
    await putHarness({}, bundle);
    const tools = open();
    const [a, b] = [sessionId, sessionIds.make('two')].map((each) =>
      tools.open(runWith({ plugins }, each), workspace()),
    );
    const said = await Promise.all([a, b].map((each) => call(each?.sources ?? [], 'p_say')));
    expect(new Set(said).size).toBe(2);
    await tools[Symbol.asyncDispose]();
    expect(said.map((folder) => readdirSync(folder))).toEqual([['starts'], ['starts']]);
  });

  test('UP-50: its variables are made inside: none tells a loader outside what to load, or where to write', async () => {
    const outside = join(base, 'escaped');
    mkdirSync(outside);
    const env = { LD_DEBUG: 'files', LD_DEBUG_OUTPUT: join(outside, 'log') };
    const { bundle, plugins } = pluginOf('process.env.LD_DEBUG_OUTPUT', { env });
    await putHarness({}, bundle);
    await using turn = open().open(runWith({ plugins }), workspace());
    expect((await listed(turn.sources)).degraded).toEqual([]);
    expect(readdirSync(outside)).toEqual([]);
  });

  test('UP-50, B143: it sees the workspace and its package, no key of ours, no other session and no other package', async () => {
    const look = `JSON.stringify([process.env.REINS_API_KEY, process.env.npm_config_cache, ...['../bundles', '../plugin-data', ''].map((path) => fs.readdirSync(process.env.PLUGIN_ROOT + '/../' + path).length)])`;
    const { bundle, plugins } = pluginOf(look);
    await putHarness({}, bundle, { ref: 'other', files: [{ path: 'SKILL.md', content: 'x' }] });
    await using turn = open().open(runWith({ plugins, skills: [{ name: 'o', bundle: 'other' }] }), workspace());
    await listed(turn.sources);
    expect(readdirSync(join(base, 'data/bundles'))).toHaveLength(2);
    expect(JSON.parse(await call(turn.sources, 'p_say'))).toEqual([null, '/tmp/.cache/npm', 1, 1, 1]);
  });

  test('U-123: commands find the folders of skills where read_skill says, and do not write them', async () => {
    const skill = [
      { path: 'SKILL.md', content: 'Run it.' },
      { path: 'bin/hello', content: '#!/bin/sh\necho HELLO' },
    ];
    await putHarness({}, { ref: 'skill', files: skill }, { ref: 'other', files: skill });
    await using turn = open().open(runWith({ skills: [{ name: 's', bundle: 'skill' }] }), workspace());
    const text = await call(turn.sources, 'read_skill', { name: 's' });
    const folder = /for commands in (.+):\]\nbin\/hello/.exec(text)?.[1] ?? '';
    const command = `${folder}/bin/hello; ls ${folder}/..; for at in bin/hello new ../new; do echo x >${folder}/$at && echo wrote; done 2>/dev/null; true`;
    const said = await call(turn.sources, 'bash', { command });
    expect(said.split('\n')).toEqual(['HELLO', expect.stringMatching(/^[0-9a-f]{40}$/)]);
  });

  test('UP-53: a program that cannot start, and a package that is gone, are missing, named, and take nothing from others', async () => {
    const { bundle, plugins } = pluginOf('1 + 1');
    await putHarness({}, bundle, { ref: 'skill', files: [{ path: 'SKILL.md', content: 'text' }] });
    const [plugin] = plugins;
    const [server] = plugin?.mcpServers ?? [];
    if (plugin === undefined || server === undefined) throw new Error('no plugin');
    const broken = [
      { ...plugin, mcpServers: [server, { ...server, name: 'bad', command: './none' }] },
      { ...plugin, name: 'lost', bundle: 'lost', skills: ['lost'], mcpServers: [{ ...server, name: 'lost' }] },
    ];
    const skills = [{ name: 's', bundle: 'skill' }];
    await using turn = open().open(runWith({ plugins: broken, skills }), workspace());
    expect((await listed(turn.sources)).degraded).toEqual(['mcp:bad', 'mcp:lost']);
    expect(await call(turn.sources, 'p_say')).toBe('2');
    expect(await call(turn.sources, 'read_skill', { name: 's' })).toBe('text');
    expect(log.join('\n')).toContain('What a harness is configured with cannot be used.');
  });
});

/** Notes the headers of what it is asked, and answers like `answer`. */
async function serve(answer: RequestListener): Promise<{ readonly url: string; readonly seen: IncomingHttpHeaders[] }> {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/mcp`, seen };
}

describe.each(['http', 'sse'] as const)('servers over %s', (transport) => {
  test.each([301, 302, 307, 308])(
    'UP-53: configured headers never follow a redirect (%i) to another origin',
    async (status) => {
      const other = await serve((_, response) => response.writeHead(404).end());
      const own = await serve((_, response) => response.writeHead(status, { Location: other.url }).end());
      const secret = { id: 'a', value: 'canary' };
      const server = { name: 'w', url: own.url, transport };
      await putHarness({ mcpServers: [{ ...server, enabled: true, headers: { 'X-Api-Key': secret }, auth: null }] });
      const secretHeaders = { 'X-Api-Key': secretHandle('a') };
      await using turn = open().open(runWith({ mcpServers: [{ ...server, secretHeaders }] }), workspace());
      expect((await listed(turn.sources)).degraded).toEqual(['mcp:w']);
      expect(own.seen[0]).toMatchObject({ 'x-api-key': 'canary' });
      expect(JSON.stringify(other.seen)).not.toContain('canary');
      expect(log.join('\n')).not.toContain('canary');
    },
  );

  const loopback = async () => [{ address: '127.0.0.1', family: 4 }];
  test.each([
    ['an address of this machine', '127.0.0.1', {}],
    ['a name of this machine', 'localhost', {}],
    ['a name that leads to this machine', 'inside.example', { lookup: loopback }],
    ['one beside what is allowed', 'inside.example', { lookup: loopback, allowHosts: ['127.0.0.1', 'example'] }],
  ])('T7: %s is not connected to, from a harness or a plugin', async (_what, host, reach) => {
    const inside = await serve((_, response) => response.writeHead(404).end());
    const url = inside.url.replace('127.0.0.1', host);
    await putHarness();
    const mcpServers = [{ name: 'w', url, transport, secretHeaders: {} }];
    const plugins = [
      { name: 'own', bundle: 'b', skills: [], mcpServers: [{ name: 'p', url, transport, headers: {} }] },
    ];
    await using turn = open(reach).open(runWith({ mcpServers, plugins }), workspace());
    expect((await listed(turn.sources)).degraded).toEqual(expect.arrayContaining(['mcp:w', 'mcp:p']));
    expect(inside.seen).toEqual([]);
    expect(log.join('\n')).toContain(`The host '${host}' is not a public one.`);
  });

  test('T7: a name that is allowed is connected to, whatever its address; a redirect away from it is judged anew', async () => {
    const other = await serve((_, response) => response.writeHead(404).end());
    const Location = other.url.replace('127.0.0.1', 'elsewhere.example');
    const own = await serve((_, response) => response.writeHead(307, { Location }).end());
    await putHarness();
    const url = own.url.replace('127.0.0.1', 'inside.example');
    const reach = { lookup: loopback, allowHosts: ['inside.example'] };
    await using turn = open(reach).open(
      runWith({ mcpServers: [{ name: 'w', url, transport, secretHeaders: {} }] }),
      workspace(),
    );
    expect((await listed(turn.sources)).degraded).toEqual(['mcp:w']);
    expect(own.seen.length).toBeGreaterThan(0);
    expect(other.seen).toEqual([]);
  });

  test('UD-37: a header whose value the harness has no more is left out', async () => {
    const own = await serve((_, response) => response.writeHead(404).end());
    await putHarness();
    const secretHeaders = { 'X-Api-Key': secretHandle('gone') };
    const server = { name: 'w', url: own.url, transport, secretHeaders };
    await using turn = open().open(runWith({ mcpServers: [server] }), workspace());
    expect((await listed(turn.sources)).degraded).toEqual(['mcp:w']);
    expect(own.seen.length).toBeGreaterThan(0);
    expect(own.seen.every((headers) => headers['x-api-key'] === undefined)).toBe(true);
  });
});
