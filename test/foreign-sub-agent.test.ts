import { expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { accepted, done, scriptedRuntime, scriptedSettings } from './support/scripted-runtime.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { openStoreOf } from './support/rows.ts';
import { startServer } from './support/server.ts';
import type { NativeCall } from '../src/harnesses/foreign/native-fact.ts';
import type { RunId } from '../src/core/ids.ts';

test('H-028: a call of a sub-agent waits for a person, and the call that it works for goes on', async () => {
  const data = mkdtempSync(join(tmpdir(), 'reins-sub-agent-'));
  const agent: NativeCall = { id: 'c1', name: 'Agent', input: { prompt: 'Write it.' } };
  const inner: NativeCall = { id: 'c2', name: 'Write', input: { path: 'a.txt' } };
  const decided = Promise.withResolvers<void>();
  const runtime = scriptedRuntime(data, async (turn) => {
    turn.say({ is: 'reply-begun' }, { is: 'call-whole', call: agent }, accepted('tool-use'));
    expect(await turn.ask(agent, 'readonly')).toEqual({ say: 'allow' });
    turn.say({ is: 'gate', request: 'inner', call: inner, useKind: 'edit', bySubAgent: true });
    await decided.promise;
    turn.say({ is: 'call-ended', id: 'c1', outcome: 'ok', content: 'Written.' });
    turn.say({ is: 'reply-begun' }, { is: 'text', key: '0', text: 'Done.' }, accepted(), done);
  });
  const settings = { ...scriptedSettings, approvals: { permissionMode: 'allow-reads' } };
  const server = await startServer({ data, settings, adapters: [runtime.adapter] });
  const { body } = await server.uhp.create({ input: 'Go', background: true });
  const open = async () => {
    const { body: list } = await server.uhp.send('GET', '/v1/reins/approvals');
    const [first] = list['approvals'] as { readonly id: string }[];
    return first?.id;
  };
  await expect.poll(open).toEqual(expect.any(String));
  const answer = await server.uhp.send('POST', `/v1/reins/approvals/${await open()}/decide`, {
    body: { decision: 'approve' },
  });
  expect(answer.status).toBe(200);
  decided.resolve();
  await expect.poll(async () => (await server.uhp.get(body.id)).body['status']).toBe('completed');
  await server[Symbol.asyncDispose]();
  await runtime.adapter[Symbol.asyncDispose]();
  await using store = await openStoreOf(data);
  const events = await store.readEvents(body.id as RunId, { after: 0, limit: 1_000 });
  expect(checkLog(events)).toEqual([]);
  expect(events.filter(({ type }) => type === 'tool-call-start')).toHaveLength(1);
  expect(events.find(({ type }) => type === 'tool-result')).toMatchObject({
    data: { toolCallId: 'c1', isError: false },
  });
  rmSync(data, { recursive: true, force: true });
});
