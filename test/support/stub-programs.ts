// Programs in the place of runtimes, each behind its real adapter: what every runtime says to be believed, and what none should do.

import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listMembers, type TreeMember } from '../../src/process/process-tree.ts';

/** What a stub of every kind does on a prompt, by its first word. `say`, `end` and `fs` are there. */
const conduct = `
const fs = require('node:fs');
const { spawn } = require('node:child_process');
const live = () => setInterval(() => {}, 1000);
const raw = (text) => fs.writeSync(1, text);
const deaf = () => { process.on('SIGTERM', () => {}); live(); };
const held = () => spawn('sh', ['-c', 'trap "" TERM; while :; do sleep 0.2; done'], { stdio: 'inherit', detached: true }).unref();
let ignoresInterrupt = false;
const acts = {
  fine: () => { say('fine'); end(); },
  // Of a person, or of the time: neither comes.
  ignores: () => { ignoresInterrupt = true; say('so far'); setInterval(() => say(' late'), 100); },
  deaf: () => { ignoresInterrupt = true; deaf(); say('so far'); setInterval(() => say(' late'), 100); },
  shut: () => { say('so far'); fs.closeSync(1); live(); },
  'shut-deaf': () => { ignoresInterrupt = true; deaf(); say('so far'); fs.closeSync(1); },
  pipe: () => { say('so far'); held(); process.exit(0); },
  sleeps: () => { say('done'); end(); live(); },
  exit0: () => { say('so far'); process.exit(0); },
  exit1: () => { say('done'); end(); process.exit(1); },
  killed: () => { say('so far'); process.kill(process.pid, 'SIGKILL'); },
  unended: () => { say('so far'); raw(ending().map(line).join('').slice(0, -1)); process.exit(0); },
  halves: () => {
    const bytes = Buffer.from(said('hálf 👩‍👩‍👧 line').map(line).join(''));
    const pieces = Array.from(bytes, (byte) => Buffer.from([byte]));
    const next = () => { const piece = pieces.shift(); if (piece === undefined) return end(); fs.writeSync(1, piece); setImmediate(next); };
    next();
  },
  garbage: () => { raw('\\u0000\\u0001 no json\\n{"type":\\n[]\\n"text"\\n17\\n\\n{}\\n'); fs.writeSync(1, Buffer.from([0xff, 0xfe, 10])); say('fine'); end(); },
  huge: () => { say('so far'); live(); const piece = 'x'.repeat(1 << 20); for (let n = 0; n < 20; n++) raw(piece); raw('\\n'); },
  million: () => { say('x'.repeat(1e6)); end(); process.exit(1); },
  dies: () => process.exit(1),
  grows: () => { say('so far'); global.kept = Buffer.alloc(400 << 20, 1); live(); },
  env: () => { say(JSON.stringify(process.env)); end(); },
  busy: () => { say('so far'); setTimeout(() => { fs.writeFileSync('made.txt', 'made'); process.exit(0); }, 300); },
  works: () => {
    say('so far');
    const job = 'trap "" TERM; (while :; do echo x >> ticks; sleep 0.05; done) & wait';
    for (const detached of [false, true]) spawn('sh', ['-c', job], { stdio: 'ignore', detached });
    live();
  },
  // Of agents that are told where models are.
  asks: () => void call().catch(() => {}).then(end),
  'asks-on': () => { ignoresInterrupt = true; deaf(); say('so far'); setInterval(() => void call().catch(() => {}), 100); },
  permission: () => permit(),
  mute: () => { fs.writeSync(2, 'I hang, and my key is ' + (process.env.STUB_KEY ?? '') + '\\n'); live(); },
};
const onPrompt = (text) => { const act = acts[/[a-z0-9-]+$/.exec(text)?.[0]]; if (act === undefined) throw new Error('No act: ' + text); act(); };
const onInterrupt = (end) => { if (!ignoresInterrupt) end(); };
const line = (value) => JSON.stringify(value) + '\\n';
const send = (value) => { try { raw(line(value)); } catch {} };
const say = (text) => said(text).forEach(send);
const end = () => ending().forEach(send);
const call = () => fetch(process.env.STUB_URL + '/v1/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + process.env.STUB_KEY, 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'test-model', stream: true, messages: [{ role: 'user', content: 'Go.' }] }),
}).then((response) => response.text());
let rest = '';
process.stdin.setEncoding('utf8').on('data', (piece) => {
  const lines = (rest + piece).split('\\n');
  rest = lines.pop();
  for (const each of lines) onLine(JSON.parse(each));
});
process.stdin.on('end', () => { if (!ignoresInterrupt && process.listenerCount('SIGTERM') === 0) process.exit(0); });
`;

/** A first prompt of a session is told its texts joined; its last word says what to do. */
const dialects = {
  'claude-code': `
if (process.argv.includes('--version')) { console.log('2.1.332 (Claude Code)'); process.exit(0); }
${conduct}
const event = (event) => ({ type: 'stream_event', event, parent_tool_use_id: null });
let isOpen = false;
const saying = (text) => event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
function said(text) {
  if (isOpen) return [saying(text)];
  isOpen = true;
  return [event({ type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'test-model', content: [] } }), event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }), saying(text)];
}
const ending = () => [{ type: 'result', is_error: false, terminal_reason: 'completed' }];
function onLine({ type, request_id, request, message }) {
  const done = () => send({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } });
  if (request?.subtype === 'initialize') return done();
  if (request?.subtype === 'interrupt') return onInterrupt(() => { done(); send({ type: 'result', is_error: false, terminal_reason: 'aborted_streaming' }); });
  if (type === 'user') onPrompt(message.content.map(({ text }) => text).join(' '));
}`,
  codex: `
if (process.argv.includes('--version')) { console.log('codex-cli 0.171.0'); process.exit(0); }
if (process.argv[2] === 'sandbox') process.exit(0);
if (process.argv[2] === 'debug') process.exit(1);
${conduct}
const of = { threadId: 't', turnId: 'u' };
const saying = (delta) => ({ method: 'item/agentMessage/delta', params: { ...of, itemId: 'i', delta } });
const said = (text) => [saying(text)];
const completed = (status) => ({ method: 'turn/completed', params: { threadId: 't', turn: { id: 'u', status } } });
const ending = () => [completed('completed')];
function onLine({ id, method, params }) {
  if (method === 'initialize') return send({ id, result: { userAgent: 'reins/0.171.0' } });
  if (method === 'thread/start' || method === 'thread/resume') return send({ id, result: { thread: { id: 't' } } });
  if (method === 'turn/interrupt') return onInterrupt(() => { send({ id, result: {} }); send(completed('interrupted')); });
  if (method !== 'turn/start') return id === undefined ? undefined : send({ id, result: {} });
  send({ id, result: { turn: { id: 'u' } } });
  send({ method: 'turn/started', params: { threadId: 't', turn: { id: 'u', status: 'inProgress' } } });
  onPrompt(params.input.map(({ text }) => text).join(' '));
}`,
  pi: `
if (process.argv.includes('--version')) { console.log('1.6.0'); process.exit(0); }
${conduct}
const saying = (delta) => ({ type: 'message_update', assistantMessageEvent: { type: 'text_delta', contentIndex: 0, delta } });
let isOpen = false;
function said(text) {
  if (isOpen) return [saying(text)];
  isOpen = true;
  return [{ type: 'message_start', message: { role: 'assistant', stopReason: 'pending' } }, saying(text)];
}
const ending = () => [{ type: 'message_end', message: { role: 'assistant', stopReason: 'stop' } }, { type: 'agent_settled', aborted: false }];
send({ type: 'extension_ui_request', id: 'n', method: 'notify', message: 'reins:gate' });
function onLine({ id, type, message }) {
  if (type === 'extension_ui_response') return;
  if (type === 'abort') return onInterrupt(() => { send({ type: 'response', id, success: true }); send({ type: 'agent_settled', aborted: true }); });
  const data = type === 'get_state' ? { messageCount: 0 } : type === 'prompt' ? { disposition: 'started' } : {};
  send({ type: 'response', id, success: true, data });
  if (type === 'prompt') onPrompt(message);
}`,
  'acp-stub': `
${conduct}
const permit = () => send({ jsonrpc: '2.0', id: 'p', method: 'session/request_permission', params: { sessionId: 's', options: [{ kind: 'allow_once', optionId: 'y' }], toolCall: { toolCallId: 'c', title: 'ls', kind: 'execute', rawInput: { command: 'ls' } } } });
const saying = (text) => ({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } });
const said = (text) => [saying(text)];
let asked = 0;
const answer = (id, result) => ({ jsonrpc: '2.0', id, result });
const ending = (stopReason = 'end_turn') => [answer(asked, { stopReason })];
function onLine({ id, method, params, result }) {
  if (process.argv[2] === 'never') return live();
  // Allowed once, it hears nothing any more, and asks again.
  if (result !== undefined) return process.stdin.destroy(), fs.closeSync(0), permit(), live();
  if (method === 'initialize') return send(answer(id, { protocolVersion: 1, agentCapabilities: { loadSession: true } }));
  if (method === 'session/new') return send(answer(id, { sessionId: 's' }));
  if (method === 'session/load') return send(answer(id, {}));
  if (method === 'session/cancel') return onInterrupt(() => ending('cancelled').forEach(send));
  if (method !== 'session/prompt') return;
  asked = id;
  onPrompt(params.prompt.map(({ text }) => text).join(' '));
}`,
} as const;

export type StubBase = keyof typeof dialects;
export const stubBases = Object.keys(dialects) as readonly StubBase[];

/** Settings of a server in which these stubs stand for the runtimes, and the model that they are given. */
export function placeStubs(folder: string, silence: object = {}): { readonly harnesses: object } {
  mkdirSync(folder, { recursive: true });
  const programs = Object.fromEntries(
    Object.entries(dialects).map(([base, code]) => {
      const path = join(folder, base);
      writeFileSync(path, `#!${process.execPath}\n${code}`);
      chmodSync(path, 0o755);
      return [base, path];
    }),
  );
  const { 'acp-stub': command, ...rest } = programs;
  const stub = { command, provider: 'openai', baseUrlVariable: 'STUB_URL', keyVariable: 'STUB_KEY' };
  const acp = { stub, never: { ...stub, args: ['never'] } };
  // What they do is tried here in the company of many, in times that do not count on giving way.
  return { harnesses: { programs: rest, acp, silence, niceness: 0 } };
}

/** The processes of a session, by the marks that its homes have on record. */
export async function processesOf(data: string, sessionId: string): Promise<readonly TreeMember[]> {
  const folder = join(data, 'homes', sessionId);
  const notes = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const markers = notes.map((name) => String(JSON.parse(readFileSync(join(folder, name), 'utf8')).marker));
  return (await Promise.all(markers.map((marker) => listMembers({ marker, root: null })))).flat();
}
