// An agent that is nothing but the protocol, as a real process: what it is given, and what it may do wrong (H-942).

import { afterAll, afterEach, expect, test } from 'vitest';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConfiguredAcpRuntime } from './configured-acp.ts';
import { dirname, join } from 'node:path';
import { listMembers } from '../../process/process-tree.ts';
import { nativeOptions } from '../../../test/support/native-options.ts';
import { silentLogger } from '../../core/logger.ts';
import { systemClock, systemRandom } from '../../system.ts';
import { tmpdir } from 'node:os';
import type { GateWord, NativeSession, NativeTurn, OpenNative } from '../foreign/runtime.ts';
import type { NativeFact } from '../foreign/native-fact.ts';

const root = mkdtempSync(join(tmpdir(), 'reins-acp-stub-'));
const command = join(root, 'agent');
const sessions: NativeSession[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) await session.stop();
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const parts = { clock: systemClock, random: systemRandom, logger: silentLogger };
const host = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };
const runtimeOf = (mode = 'plain', path = command) =>
  createConfiguredAcpRuntime(
    {
      name: 'stub',
      label: 'Stub',
      command: path,
      args: [mode],
      env: { OWN: 'own' },
      baseUrlVariable: 'STUB_URL',
      keyVariable: 'STUB_KEY',
      providers: ['openai'],
    },
    { ...parts, host },
  );

async function open(runtime = runtimeOf(), more: Partial<OpenNative> = {}) {
  const config = { base: 'acp-stub', systemPrompt: 'Be brief.', instructions: null, disabledTools: [] };
  const { options, states } = nativeOptions(root, { config, ...more });
  const { marker } = options;
  const opening = runtime.open(options);
  const members = () => listMembers({ marker, root: null });
  const session = await opening.catch(async (cause: unknown) => {
    expect(await members()).toEqual([]);
    throw cause;
  });
  sessions.push(session);
  return { session, members, state: () => states.at(-1) ?? null };
}
async function drive(turn: NativeTurn, word: GateWord = { say: 'allow' }): Promise<readonly NativeFact[]> {
  const all: NativeFact[] = [];
  for (;;) {
    for (const fact of await turn.facts.take()) {
      all.push(fact);
      if (fact.is === 'gate') turn.answer(fact.request, word);
      if (fact.is === 'ended') return all;
    }
  }
}
const run = (session: NativeSession, text: string, word?: GateWord) =>
  drive(session.prompt({ content: [{ type: 'text', text }] }), word);
const textOf = (facts: readonly NativeFact[]) =>
  facts.flatMap((fact) => (fact.is === 'text' ? fact.text : [])).join('');

test('H-607: the operator names the variables of address and key; the instructions stand before the first prompt alone', async () => {
  const { session, state } = await open();
  expect(state()).toEqual({ nativeId: 'one', version: '7.0.0' });
  expect(textOf(await run(session, 'hello'))).toBe('Be brief.|hello own http://127.0.0.1:1 lease-token');
  expect(textOf(await run(session, '/again'))).toBe('\u2060/again own http://127.0.0.1:1 lease-token');
});

test('H-014, H-607: abilities begin at the lowest, and the handshake raises what it declares', async () => {
  const runtime = runtimeOf();
  expect(runtime.capabilities).toMatchObject({ resume: 'none', steer: 'none', approvals: 'own-rules' });
  const { session } = await open(runtime, { resume: { nativeId: 'one', version: null } });
  expect([session.resumed, runtime.capabilities.resume]).toEqual([true, 'own-id']);
  const lost = await open(runtime, { resume: { nativeId: 'gone', version: null } });
  expect(lost.session.resumed).toBe(false);
});

test('H-071: one that does not survive the session it shall go on with is started once more, with a new one', async () => {
  const { session, members, state } = await open(runtimeOf(), { resume: { nativeId: 'broken', version: null } });
  expect([session.resumed, state()]).toEqual([false, { nativeId: 'one', version: '7.0.0' }]);
  expect(await members()).toHaveLength(1);
});

test('H-602, H-040: options are chosen by their kind, and never for good', async () => {
  const { session } = await open();
  const facts = await run(session, 'ask');
  expect(facts).toContainEqual(expect.objectContaining({ is: 'gate', useKind: 'execute' }));
  expect(textOf(facts)).toContain('"optionId":"yes-once"');
  expect(textOf(await run(session, 'ask', { say: 'deny', note: '' }))).toContain('"optionId":"no-once"');
  expect(textOf(await run(session, 'ask', { say: 'cancelled' }))).toContain('"outcome":"cancelled"');
});

test('H-044: what it asks for that nobody knows is refused, and the turn goes on', async () => {
  const { session } = await open();
  expect(textOf(await run(session, 'strange'))).toContain('-32601');
});

test('U-112: a server of MCP that it has no transport for is missing', async () => {
  const server = { transport: 'http', url: 'http://127.0.0.1:1', headers: {} } as const;
  const { session } = await open(runtimeOf(), { mcpServers: [{ name: 'far', server }] });
  expect(await run(session, 'hello')).toContainEqual({ is: 'degraded', what: 'mcp:far' });
});

test('H-103: gone without an answer is a failure, also with exit code 0', async () => {
  const { session } = await open();
  const error = expect.objectContaining({ message: 'Stub exited with code 0 while it was at work.' });
  expect((await run(session, 'exit')).at(-1)).toEqual({ is: 'ended', end: { as: 'failed', error } });
  expect(await session.gone).toBe('Stub exited with code 0.');
});

test('H-942: one that ignores the wish to end is ended', { timeout: 15_000 }, async () => {
  const { session, members } = await open(runtimeOf('stubborn'));
  const stopped = await session.stop();
  expect(stopped.unstopped).toEqual([]);
  expect(await members()).toEqual([]);
});

test.for([
  ['refuses', 'Stub was not ready for work.'],
  ['exits', 'Stub exited with code 3 before it was ready.'],
] as const)('B145: a start that %s is a failure that leaves nothing behind', async ([mode, message]) => {
  await expect(open(runtimeOf(mode))).rejects.toThrow(message);
});

test('B145: a start that hangs ends with the wish for it', async () => {
  await expect(open(runtimeOf('hangs'), { signal: AbortSignal.timeout(300) })).rejects.toThrow('was stopped');
});

test('H-972: one that is not there is said to be not installed', async () => {
  expect((await runtimeOf('plain', '/no/such/agent').probe()).problem?.code).toBe('not-installed');
});

test('B140: a text file in the place of the agent is told, and not given to the shell', async () => {
  const path = join(root, 'text');
  writeFileSync(path, 'sleep 20\n', { mode: 0o755 });
  const { problem } = await runtimeOf('plain', path).probe();
  expect(problem).toMatchObject({ code: 'not-executable', message: expect.stringContaining('names no program') });
  await expect(open(runtimeOf('plain', path))).rejects.toThrow('names no program');
});

writeFileSync(
  command,
  `#!/usr/bin/env node
const { createInterface } = require('node:readline');
const mode = process.argv[2];
if (mode === 'exits') process.exit(3);
if (mode === 'stubborn') { process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); }
const send = (value) => console.log(JSON.stringify({ jsonrpc: '2.0', ...value }));
const say = (text) => send({ method: 'session/update', params: { sessionId: 'one', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } });
const options = ['allow_always:yes', 'allow_once:yes-once', 'reject_always:no', 'reject_once:no-once'].map((each) => ({ kind: each.split(':')[0], optionId: each.split(':')[1], name: each }));
let asked = null;
const end = (text) => { say(text); send({ id: asked, result: { stopReason: 'end_turn' } }); };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (mode === 'hangs') return;
  if (mode === 'refuses') return send({ id, error: { code: -32603, message: 'no' } });
  if (method === 'initialize') return send({ id, result: { protocolVersion: 1, agentInfo: { name: 'stub', version: '7.0.0' }, agentCapabilities: { loadSession: true } } });
  if (method === 'session/new') return send({ id, result: { sessionId: 'one' } });
  if (method === 'session/load' && params.sessionId === 'broken') process.exit(4);
  if (method === 'session/load') return send(params.sessionId === 'one' ? { id, result: {} } : { id, error: { code: -32603, message: 'unknown' } });
  if (method === undefined) return end(JSON.stringify(result ?? error));
  if (method !== 'session/prompt') return;
  asked = id;
  const text = params.prompt.map((each) => each.text).join('|');
  if (text.endsWith('exit')) process.exit(0);
  if (text.endsWith('strange')) return send({ id: 's', method: 'fs/read_text_file', params: {} });
  if (text.endsWith('ask')) return send({ id: 9, method: 'session/request_permission', params: { sessionId: 'one', options, toolCall: { toolCallId: 'c' + id, title: 'ls', kind: 'execute', rawInput: { command: 'ls' } } } });
  end([text, process.env.OWN, process.env.STUB_URL, process.env.STUB_KEY].join(' '));
});
`,
);
chmodSync(command, 0o755);
