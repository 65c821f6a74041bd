// Programs that are not what they should be, as scripts in its place.

import { afterAll, expect, test } from 'vitest';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createControlPeer } from './control-peer.ts';
import { join } from 'node:path';
import { listMembers } from '../../process/process-tree.ts';
import { nativeOptions } from '../../../test/support/native-options.ts';
import { startClaudeCode } from './start.ts';
import { tmpdir } from 'node:os';
import type { JsonObject } from '../../core/json.ts';
import type { NativeFact } from '../foreign/native-fact.ts';

const root = mkdtempSync(join(tmpdir(), 'reins-claude-stub-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const answering = `
import { createInterface } from 'node:readline';
const say = (value) => console.log(JSON.stringify(value));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { type, request_id, request } = JSON.parse(line);
  if (request?.subtype === 'initialize') say({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } });
  if (type === 'user') onPrompt();
});
`;

function stub(name: string, code: string, signal = new AbortController().signal) {
  const program = join(root, `${name}.mjs`);
  writeFileSync(program, `#!${process.execPath}\n${code}`);
  chmodSync(program, 0o755);
  const { options } = nativeOptions(root, { signal });
  const open = () => startClaudeCode({ program, host: { PATH: process.env['PATH'] } }, options);
  return { open, left: () => listMembers({ marker: options.marker, root: null }) };
}

async function lastFact(facts: { take(): Promise<readonly NativeFact[]> }): Promise<NativeFact | undefined> {
  let last: NativeFact | undefined;
  for (let batch = await facts.take(); batch.length > 0; batch = await facts.take()) last = batch.at(-1);
  return last;
}

test('H-136: a program that ends at its start is named with what is known of why', async () => {
  const { open, left } = stub(
    'ends',
    `console.error('cannot be used with root/sudo privileges: secret'); process.exit(1);`,
  );
  await expect(open()).rejects.toMatchObject({
    error: {
      type: 'AgentUnavailableError',
      message: 'Claude Code exited with code 1 before it was ready: it does not run as root in this mode.',
    },
  });
  expect(await left()).toEqual([]);
});

test('B145: a start that is given up leaves nothing behind', async () => {
  const giveUp = new AbortController();
  const { open, left } = stub('hangs', 'setInterval(() => {}, 1_000);', giveUp.signal);
  const opened = open();
  await expect.poll(async () => (await left()).length).toBeGreaterThan(0);
  giveUp.abort();
  await expect(opened).rejects.toMatchObject({ error: { message: 'The start of Claude Code was stopped.' } });
  expect(await left()).toEqual([]);
});

test.each([
  ['exits without an end', 'process.exit(0);', 'exited with code 0'],
  ['is ended by a signal', `process.kill(process.pid, 'SIGTERM');`, 'was ended by SIGTERM'],
  [
    'says nonsense and exits',
    `console.log('{"type":'); console.log('nonsense'); process.exit(3);`,
    'exited with code 3',
  ],
])('B134, H-103: a program that %s has failed its turn', async (name, code, how) => {
  const { open } = stub(name.replaceAll(' ', '-'), `${answering} function onPrompt() { ${code} }`);
  const session = await open();
  const turn = session.prompt({ content: [{ type: 'text', text: 'Go.' }] });
  expect(await lastFact(turn.facts)).toMatchObject({
    is: 'ended',
    end: { as: 'failed', error: { type: 'HarnessError', message: `Claude Code ${how} while it was at work.` } },
  });
  expect(await session.gone).toMatch(new RegExp(`^Claude Code ${how}\\.`));
  await session.stop();
});

test('H-101: an older version that never says that it idles ends its turn with its result', async () => {
  const result = `{ type: 'result', is_error: false, terminal_reason: 'completed' }`;
  const { open } = stub('old', `${answering} function onPrompt() { say(${result}); say(${result}); }`);
  const session = await open();
  const turn = session.prompt({ content: [{ type: 'text', text: 'Go.' }] });
  expect(await lastFact(turn.facts)).toEqual({ is: 'ended', end: { as: 'completed' } });
  await session.stop();
});

test('H-044: every request of the program gets an answer, one of an unknown kind an error', async () => {
  const sent: JsonObject[] = [];
  const heard: JsonObject[] = [];
  const peer = createControlPeer({ send: (value) => sent.push(value), onMessage: (message) => heard.push(message) });
  const ask = (request: JsonObject) => peer.receive({ type: 'control_request', request_id: 'x', request });
  ask({ subtype: 'hook_callback' });
  ask({ subtype: 'of_tomorrow' });
  ask({ subtype: 'can_use_tool' });
  expect(sent).toMatchObject([
    { response: { subtype: 'success' } },
    { response: { subtype: 'error', request_id: 'x' } },
  ]);
  expect(heard).toHaveLength(2);
  const waiting = peer.request({ subtype: 'interrupt' });
  peer.close('It is gone.');
  await expect(waiting).rejects.toThrow('It is gone.');
  await expect(peer.request({ subtype: 'interrupt' })).rejects.toThrow('It is gone.');
});
