// What holds for every foreign runtime, whatever its program: over a whole server, with turns that the test says.

import { afterEach, expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { accepted, done, scriptedRuntime, scriptedSettings, type ScriptedTurn } from './support/scripted-runtime.ts';
import type { Body } from './support/event-stream.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { openStoreOf } from './support/rows.ts';
import { startServer } from './support/server.ts';
import type { HarnessAdapter, Turn } from '../src/harnesses/harness.ts';
import type { NativeCall, NativeFact } from '../src/harnesses/foreign/native-fact.ts';
import type { RunEvent } from '../src/core/run-event.ts';
import type { RunId } from '../src/core/ids.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function rig(
  script: (turn: ScriptedTurn) => Promise<void>,
  o: { readonly approvals?: object; readonly data?: string; readonly parkSeconds?: number } = {},
) {
  const data = o.data ?? mkdtempSync(join(tmpdir(), 'reins-foreign-'));
  if (o.data === undefined) folders.push(data);
  const runtime = scriptedRuntime(data, script, { parkSeconds: o.parkSeconds ?? 60 });
  const settings = { ...scriptedSettings, ...(o.approvals === undefined ? {} : { approvals: o.approvals }) };
  const server = await startServer({ data, settings, adapters: [runtime.adapter] });
  return {
    data,
    runtime,
    server,
    uhp: server.uhp,
    /** The log, which keeps the laws of order. */
    async logOf(id: unknown): Promise<readonly RunEvent[]> {
      await using store = await openStoreOf(data);
      const events = await store.readEvents(id as RunId, { after: 0, limit: 10_000 });
      expect(checkLog(events)).toEqual([]);
      return events;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await runtime.adapter[Symbol.asyncDispose]();
    },
  };
}

type Rig = Awaited<ReturnType<typeof rig>>;

const text = (piece: string): NativeFact => ({ is: 'text', key: 't', text: piece });
const write: NativeCall = { id: 'c1', name: 'write', input: { path: 'a.txt' } };
const begun: NativeFact = { is: 'reply-begun' };
const result = (id: string, content = 'ok'): NativeFact => ({ is: 'call-ended', id, outcome: 'ok', content });
/** Of the last item that the response holds. */
function lastText({ output }: Body): unknown {
  const { content } = (Array.isArray(output) ? output.at(-1) : undefined) ?? {};
  return Array.isArray(content) ? content[0]?.text : undefined;
}
const typesOf = (events: readonly RunEvent[]) => events.map(({ type }) => type);
const answerTo = (input: string) => [begun, text(input), accepted(), done];

async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const openApproval = ({ uhp }: Rig, isMeant: (approval: object) => boolean = () => true) =>
  until(async () => {
    const { body } = await uhp.send('GET', '/v1/reins/approvals');
    const [first] =
      (body as { approvals?: { id: string; status: string }[] }).approvals?.filter(
        (each) => each.status === 'pending' && isMeant(each),
      ) ?? [];
    return first ?? null;
  });
const decide = ({ uhp }: Rig, id: string, decision: object) =>
  uhp.send('POST', `/v1/reins/approvals/${id}/decide`, { body: decision });
const settled = ({ uhp }: Rig, id: unknown) =>
  until(async () => {
    const { body } = await uhp.get(String(id));
    return body['status'] === 'in_progress' ? null : body;
  });

/** A reply with a call, its gate, its result, and a last word. */
async function toolTurn(turn: ScriptedTurn): Promise<void> {
  turn.say(begun, text('I write. '), { is: 'call-begun', id: 'c1', name: 'write' });
  turn.say(
    { is: 'call-input', id: 'c1', piece: '{"path":' },
    { is: 'call-input', id: 'c1', piece: '"a.txt"}' },
    accepted('tool-use'),
  );
  const word = await turn.ask(write, 'edit');
  if (word.say === 'allow') turn.say({ is: 'call-running', call: write }, result('c1'));
  turn.say(begun, text(word.say === 'deny' ? `Refused: ${word.note}` : 'Written.'), accepted(), done);
}

test('H-022, H-026: a turn with a tool is two steps, its call announced, dispatched before it runs, and answered once', async () => {
  await using server = await rig(toolTurn);
  const { body } = await server.uhp.create({ input: 'Write it' });
  expect(body).toMatchObject({ status: 'completed', usage: { input_tokens: 22, output_tokens: 14 } });
  const types = typesOf(await server.logOf(body.id));
  expect(types.filter((type) => /^(step|turn|tool)/.test(type))).toEqual([
    'step-started',
    'tool-call-delta',
    'tool-call-delta',
    'turn-complete',
    'tool-call-start',
    'tool-dispatched',
    'tool-call-complete',
    'tool-result',
    'step-finished',
    'step-started',
    'turn-complete',
    'step-finished',
  ]);
});

test('H-024: a second beginning before the first was accepted gives the first up, and no character is shown twice', async () => {
  await using server = await rig(async ({ say }) => say(begun, text('Half'), ...answerTo('Whole.')));
  const { body } = await server.uhp.create({ input: 'Go' });
  expect(lastText(body)).toBe('Whole.');
  expect(typesOf(await server.logOf(body.id))).toContain('attempt-reset');
});

test('H-024: a reply that is begun three times is shown once, as the third has it', async () => {
  await using server = await rig(async ({ say }) =>
    say(begun, text('One'), begun, text('Two'), begun, text('Three.'), accepted(), done),
  );
  const { body } = await server.uhp.create({ input: 'Go' });
  expect(lastText(body)).toBe('Three.');
  const resets = typesOf(await server.logOf(body.id)).filter((type) => type === 'attempt-reset');
  expect(resets).toHaveLength(2);
});

test('H-023: what a runtime keeps of a text and had not streamed is shown as one more piece', async () => {
  const whole: NativeFact = { is: 'text-whole', key: 't', text: 'Hello there.' };
  await using server = await rig(async ({ say }) => say(begun, text('Hello '), whole, accepted(), done));
  const { body } = await server.uhp.create({ input: 'Go' });
  expect(lastText(body)).toBe('Hello there.');
  await server.logOf(body.id);
});

test('H-022: what is said of a call before its reply was taken waits for that, and not for ever', async () => {
  await using server = await rig(async ({ say }) => {
    say(begun, text('Now. '), { is: 'call-whole', call: write }, { is: 'call-running', call: write }, result('c1'));
    await new Promise((resolve) => setTimeout(resolve, 2_300));
    say(...answerTo('Done.'));
  });
  const { body } = await server.uhp.create({ input: 'Go' });
  expect(body['status']).toBe('completed');
  const types = typesOf(await server.logOf(body.id));
  expect(types.indexOf('tool-call-start')).toBeGreaterThan(types.indexOf('turn-complete'));
});

test.each([
  ['approve', { decision: 'approve' }, 'Written.'],
  ['deny', { decision: 'deny', note: 'Not there.' }, /Refused: .*Not there\./],
] as const)(
  'B081, B082, B085, H-041, H-042: a call waits for a person while its process is kept: %s',
  async (_name, decision, said) => {
    await using server = await rig(toolTurn, { approvals: { permissionMode: 'allow-reads' } });
    const { body } = await server.uhp.create({ input: 'Write it', background: true });
    const approval = await openApproval(server);
    expect(server.runtime.stopped).toBe(0);
    expect((await decide(server, approval.id, decision)).status).toBe(200);
    const end = await settled(server, body.id);
    expect(lastText(end)).toEqual(typeof said === 'string' ? said : expect.stringMatching(said));
    expect(server.runtime.opened).toHaveLength(1);
    const events = await server.logOf(body.id);
    const at = (type: string) => typesOf(events).indexOf(type as RunEvent['type']);
    expect(at('approval-required')).toBeLessThan(at('approval-decided'));
    expect(at('approval-decided')).toBeLessThan(at('tool-call-start'));
    // Nobody had to tell the runtime to go on.
    expect(typesOf(events)).not.toContain('user-message');
    expect(typesOf(events).includes('tool-dispatched')).toBe(decision.decision === 'approve');
  },
);

test('B083, B085, H-042: decided after a restart, the session is resumed and exactly the call that was approved is let through unasked', async () => {
  const data = mkdtempSync(join(tmpdir(), 'reins-foreign-'));
  folders.push(data);
  const approvals = { permissionMode: 'allow-reads' };
  const first = await rig(toolTurn, { approvals, data });
  const { body } = await first.uhp.create({ input: 'Write it', background: true });
  const approval = await openApproval(first);
  await first[Symbol.asyncDispose]();
  const words: string[] = [];
  const again = async (turn: ScriptedTurn) => {
    words.push(turn.input);
    expect(turn.opened.resume?.nativeId).toBe('native-1');
    const other: NativeCall = { id: 'd0', name: 'write', input: { path: 'b.txt' } };
    const same: NativeCall = { ...write, id: 'd1' };
    turn.say(begun, { is: 'call-whole', call: same }, { is: 'call-whole', call: other }, accepted('tool-use'));
    expect(await turn.ask(same, 'edit')).toEqual({ say: 'allow' });
    turn.say(result('d1'));
    await turn.ask(other, 'edit');
    turn.say(...answerTo('Never both.'));
  };
  await using second = await rig(again, { approvals, data });
  await decide(second, approval.id, { decision: 'approve' });
  const next = await until(async () => {
    const open = await openApproval(second);
    return open.id === approval.id ? null : open;
  });
  await decide(second, next.id, { decision: 'deny' });
  expect(await settled(second, body.id)).toMatchObject({ status: 'completed' });
  expect(words[0]).toContain('was approved');
  await second.logOf(body.id);
});

test('H-042: a call that was approved after a restart and is not made again has not run, and the run says so', async () => {
  const data = mkdtempSync(join(tmpdir(), 'reins-foreign-'));
  folders.push(data);
  const approvals = { permissionMode: 'allow-reads' };
  const first = await rig(toolTurn, { approvals, data });
  const { body } = await first.uhp.create({ input: 'Write it', background: true });
  const approval = await openApproval(first);
  await first[Symbol.asyncDispose]();
  await using second = await rig(async (turn) => turn.say(...answerTo('I have changed my mind.')), { approvals, data });
  await decide(second, approval.id, { decision: 'approve' });
  expect(await settled(second, body.id)).toMatchObject({ status: 'completed' });
  const log = await second.logOf(body.id);
  const said = log.flatMap((event) =>
    event.type === 'user-message' && event.data.mode === 'engine' ? [event.data] : [],
  );
  expect(said.at(-1)).toMatchObject({ purpose: 'approval-unused' });
  expect(typesOf(log)).not.toContain('tool-dispatched');
});

test('B091, H-060, H-066: a cancel answers open gates, interrupts, ends the tree, and shows nothing more', async () => {
  const words: string[] = [];
  await using server = await rig(async (turn) => {
    turn.say(begun, text('I work. '), { is: 'call-whole', call: write }, accepted('tool-use'));
    void turn.ask(write, 'edit');
    turn.say({ is: 'call-running', call: write });
    await turn.interrupted;
    words.push('interrupted');
    turn.say({ is: 'ended', end: { as: 'interrupted' } });
  });
  const { body } = await server.uhp.create({ input: 'Go', background: true });
  await until(async () => (typesOf(await server.logOf(body.id)).includes('tool-dispatched') ? true : null));
  await server.uhp.cancel(body.id);
  expect(await settled(server, body.id)).toMatchObject({ status: 'cancelled' });
  expect([words, server.runtime.stopped]).toEqual([['interrupted'], 1]);
  await server.logOf(body.id);
  // The next task of the session begins where that left off.
  const { body: next } = await server.uhp.create({ input: 'Go', previous_response_id: body.id, background: true });
  await until(async () => (server.runtime.opened.length === 2 ? true : null));
  expect(server.runtime.opened[1]?.resume?.nativeId).toBe('native-1');
  await server.uhp.cancel(next.id);
  await settled(server, next.id);
});

test('H-050: a message reaches the runtime while it works, and the next reply has read it', async () => {
  await using server = await rig(async (turn) => {
    turn.say(begun, text('Working. '), accepted());
    const message = await turn.steered();
    turn.say(...answerTo(`You said ${message}`));
  });
  const { body } = await server.uhp.create({ input: 'Go', background: true });
  await until(async () => (typesOf(await server.logOf(body.id)).includes('step-started') ? true : null));
  await server.uhp.send('POST', `/v1/reins/responses/${body.id}/steer`, { body: { input: 'hurry' } });
  const end = await settled(server, body.id);
  expect(lastText(end)).toBe('You said hurry');
});

test('E-665: what is said while a call waits for a person reaches the runtime when it goes on, once', async () => {
  const heard: string[] = [];
  const script = async (turn: ScriptedTurn) => {
    turn.say(begun, { is: 'call-whole', call: write }, accepted('tool-use'));
    await turn.ask(write, 'edit');
    heard.push(await turn.steered());
    turn.say(result('c1'), ...answerTo('Heard.'));
  };
  await using server = await rig(script, { approvals: { permissionMode: 'allow-reads' } });
  const { body } = await server.uhp.create({ input: 'Go', background: true });
  const approval = await openApproval(server);
  await server.uhp.send('POST', `/v1/reins/responses/${body.id}/steer`, { body: { input: 'by the way' } });
  await decide(server, approval.id, { decision: 'approve' });
  expect(await settled(server, body.id)).toMatchObject({ status: 'completed' });
  expect(heard).toEqual(['by the way']);
  expect(server.runtime.opened).toHaveLength(1);
});

test('a cancel of a task that waits for a person ends its process', async () => {
  await using server = await rig(toolTurn, { approvals: { permissionMode: 'allow-reads' } });
  const { body } = await server.uhp.create({ input: 'Write it', background: true });
  await openApproval(server);
  expect(server.runtime.stopped).toBe(0);
  await server.uhp.cancel(body.id);
  expect(await settled(server, body.id)).toMatchObject({ status: 'cancelled' });
  expect(server.runtime.stopped).toBe(1);
});

test('B111, H-103: a process that goes away in mid-turn fails the task and keeps what was shown; the next task works', async () => {
  await using server = await rig(async (turn) => {
    if (turn.input.includes('again')) return turn.say(...answerTo('Here.'));
    turn.say(begun, text('Half'));
    turn.die();
    const error = { type: 'HarnessError', message: 'Scripted exited with code 3.', retryable: false } as const;
    turn.say({ is: 'ended', end: { as: 'failed', error } }, text('too late'));
  });
  const { body } = await server.uhp.create({ input: 'Go' });
  expect(body).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('exited with code 3') } });
  await server.logOf(body.id);
  const { body: next } = await server.uhp.create({ input: 'Go again', previous_response_id: body.id });
  expect(next).toMatchObject({ status: 'completed' });
  expect(server.runtime.opened).toHaveLength(2);
});

test('H-074: a follow-up in the same session finds its process warm', async () => {
  await using server = await rig(async ({ say, turns }) => say(...answerTo(`Turn ${turns}`)));
  const { body } = await server.uhp.create({ input: 'One' });
  const { body: next } = await server.uhp.create({ input: 'Two', previous_response_id: body.id });
  expect(lastText(next)).toBe('Turn 2');
  expect(server.runtime.opened).toHaveLength(1);
});

test('B129: a run that the server left is gone on with at the next start, from the runtime’s own state', async () => {
  const data = mkdtempSync(join(tmpdir(), 'reins-foreign-'));
  folders.push(data);
  const first = await rig(async ({ say }) => say(begun, text('Half'), { is: 'progress' }), { data });
  const { body } = await first.uhp.create({ input: 'Long work', background: true });
  await until(async () => (typesOf(await first.logOf(body.id)).includes('text-delta') ? true : null));
  await first[Symbol.asyncDispose]();
  await using second = await rig(
    async ({ say, input }) => say(...answerTo(input.includes('Long work') ? 'Whole.' : '?')),
    { data },
  );
  expect(await settled(second, body.id)).toMatchObject({ status: 'completed' });
  const events = await second.logOf(body.id);
  expect(typesOf(events)).toContain('attempt-reset');
  expect(second.runtime.opened[0]?.resume?.nativeId).toBe('native-1');
});

test('UD-02, H-081: rounds that the task may have are all it gets: a call of the next reply interrupts, and its item stays open', async () => {
  const words: string[] = [];
  await using server = await rig(async (turn) => {
    for (let round = 1; round <= 2; round++) {
      const call = { ...write, id: `c${round}` };
      turn.say(begun, { is: 'call-whole', call }, accepted('tool-use'));
      const word = await turn.ask(call, 'edit');
      words.push(word.say);
      if (word.say === 'allow') turn.say(result(call.id));
    }
    await turn.interrupted;
    turn.say({ is: 'ended', end: { as: 'interrupted' } });
  });
  const { body } = await server.uhp.create({ input: 'Go', max_step: 1 });
  expect(words).toEqual(['allow', 'cancelled']);
  expect(body).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_step' } });
  const items = body.output.map(({ type, status }) => `${type} ${status}`);
  expect(items).toEqual(['function_call completed', 'function_call_output completed', 'function_call incomplete']);
  const types = typesOf(await server.logOf(body.id));
  expect(types.filter((type) => type === 'tool-dispatched')).toHaveLength(1);
});

test('B147, H-110: a heartbeat hides no standstill; that the connection lived is said beside it', async () => {
  await using server = await rig(async (turn) => {
    turn.say(begun, text('I '));
    const beat = setInterval(() => turn.say({ is: 'alive' }, { is: 'unknown', kind: 'beat' }), 200);
    await turn.interrupted;
    clearInterval(beat);
  });
  const { body } = await server.uhp.create({ input: 'Go' });
  const message = 'Scripted gave no sign of life during a model call beyond its heartbeat and was stopped.';
  expect(body).toMatchObject({ status: 'failed', error: { message } });
});

test('B110, H-110: a runtime that gives no sign of life after its prompt is stopped and said to be stuck', async () => {
  await using server = await rig(async () => {});
  const { body } = await server.uhp.create({ input: 'Go' });
  expect(body).toMatchObject({ status: 'failed', error: { message: expect.stringContaining('no sign of life') } });
  expect(server.runtime.stopped).toBe(1);
  await server.logOf(body.id);
});

/** Phases of a turn, each entered by its facts; true: the run waits for a person there. */
const phases: Readonly<Record<string, (turn: ScriptedTurn) => boolean>> = {
  'before its first word': () => false,
  'in a text': ({ say }) => (say(begun, text('I ')), false),
  'between attempts': ({ say }) => (
    say(begun, text('I '), { is: 'reply-lost', reason: 'transient-error', retryInMs: 60_000 }),
    false
  ),
  'in a tool': ({ say }) => (
    say(begun, { is: 'call-whole', call: write }, accepted('tool-use'), { is: 'call-running', call: write }),
    false
  ),
  'at a gate': ({ say, ask }) => (
    say(begun, { is: 'call-whole', call: write }, accepted('tool-use')),
    void ask(write, 'edit'),
    true
  ),
  'after a tool': ({ say }) => (
    say(
      begun,
      { is: 'call-whole', call: write },
      accepted('tool-use'),
      { is: 'call-running', call: write },
      result('c1'),
    ),
    false
  ),
};

test.for(Object.entries(phases))(
  'B091, B097, B100: cancelled %s, all say so, every call has one answer, and the session goes on',
  async ([, enter]) => {
    const there = Promise.withResolvers<boolean>();
    const script = async (turn: ScriptedTurn) => {
      if (turn.input.includes('again')) return turn.say(...answerTo('Here.'));
      there.resolve(enter(turn));
      await turn.interrupted;
      turn.say(text('Late.'), { is: 'ended', end: { as: 'interrupted' } });
    };
    await using server = await rig(script, { approvals: { permissionMode: 'allow-reads' } });
    const { uhp } = server;
    const { body: task } = await uhp.create({ input: 'Go', background: true });
    if (await there.promise) await openApproval(server);
    await uhp.cancel(task.id);
    const end = await settled(server, task.id);
    expect(end).toMatchObject({ status: 'cancelled', error: null });
    expect(JSON.stringify(end)).not.toContain('Late.');
    const session = await uhp.send('GET', `/v1/sessions/${task.metadata.session_id}`);
    expect(session.body.status).toBe('cancelled');
    const open = await uhp.send('GET', '/v1/reins/approvals?status=pending');
    expect(open.body['approvals']).toEqual([]);
    await server.logOf(task.id);
    const { body: next } = await uhp.create({ input: 'Go again', previous_response_id: task.id });
    expect([next.status, lastText(next)]).toEqual(['completed', 'Here.']);
  },
);

test('B081: of two calls that wait one is approved and one refused: each has its one answer, and the turn goes on', async () => {
  const other: NativeCall = { id: 'c2', name: 'write', input: { path: 'b.txt' } };
  await using server = await rig(
    async (turn) => {
      turn.say(begun, ...[write, other].map((call): NativeFact => ({ is: 'call-whole', call })), accepted('tool-use'));
      const words = await Promise.all([write, other].map((call) => turn.ask(call, 'edit')));
      turn.say({ is: 'call-running', call: write }, result('c1'), ...answerTo(words.map(({ say }) => say).join()));
    },
    { approvals: { permissionMode: 'allow-reads' } },
  );
  const { body: task } = await server.uhp.create({ input: 'Go', background: true });
  for (const [decision, path] of [
    ['approve', 'a.txt'],
    ['deny', 'b.txt'],
  ] as const) {
    const approval = await openApproval(server, (each) => JSON.stringify(each).includes(path));
    expect((await decide(server, approval.id, { decision })).status).toBe(200);
  }
  const end = await settled(server, task.id);
  expect([end.status, lastText(end)]).toEqual(['completed', 'allow,deny']);
  expect(end.output.filter(({ type }) => type === 'function_call_output')).toHaveLength(2);
  await server.logOf(task.id);
});

test('B088: what was done before two questions is done once, and each is put once', async () => {
  let effects = 0;
  await using server = await rig(async (turn) => {
    turn.say(begun, { is: 'call-whole', call: write }, accepted('tool-use'));
    await turn.ask(write, 'edit');
    effects++;
    turn.say(result('c1'));
    for (const id of ['q1', 'q2']) {
      const call: NativeCall = { id, name: 'ask', input: {} };
      turn.say(begun, { is: 'call-whole', call }, accepted('tool-use'));
      const word = await turn.question({ call, questions: [{ id, question: `${id}?`, options: ['Yes', 'No'] }] });
      turn.say(result(id, word.say));
    }
    turn.say(...answerTo('Done.'));
  });
  const { uhp } = server;
  const harness = await uhp.send('POST', '/v1/harnesses', {
    body: { base: 'scripted', name: 'asks', reins_questions: true },
  });
  const metadata = { harness_id: harness.body.id };
  const { body: task } = await uhp.create({ input: 'Go', background: true, metadata });
  const put: string[] = [];
  for (const id of ['q1', 'q2']) {
    const asked = await openApproval(server);
    put.push(asked.id);
    const answers = [{ id, selected: ['Yes'] }];
    expect((await uhp.send('POST', `/v1/reins/approvals/${asked.id}/answer`, { body: { answers } })).status).toBe(200);
  }
  expect((await settled(server, task.id)).status).toBe('completed');
  expect([effects, new Set(put).size, server.runtime.opened.length]).toEqual([1, 2, 1]);
});

test('B083: a call that waits for a person when the server goes before the task has parked waits on, and is run when it is approved', async () => {
  const data = mkdtempSync(join(tmpdir(), 'reins-foreign-'));
  folders.push(data);
  const approvals = { permissionMode: 'allow-reads' };
  const busy: NativeCall = { id: 'c9', name: 'read', input: { path: 'b.txt' } };
  // Beside a call that runs nothing parks.
  const first = await rig(
    async (turn) => {
      turn.say(begun, { is: 'call-whole', call: write }, { is: 'call-whole', call: busy }, accepted('tool-use'));
      turn.say({ is: 'call-running', call: busy });
      await turn.ask(write, 'edit');
    },
    { approvals, data },
  );
  const { body } = await first.uhp.create({ input: 'Go', background: true });
  const approval = await openApproval(first);
  await until(async () => (typesOf(await first.logOf(body.id)).includes('tool-dispatched') ? true : null));
  await first[Symbol.asyncDispose]();
  const words: string[] = [];
  const again = async (turn: ScriptedTurn) => {
    words.push(turn.input);
    const same: NativeCall = { ...write, id: 'd1' };
    turn.say(begun, { is: 'call-whole', call: same }, accepted('tool-use'));
    expect(await turn.ask(same, 'edit')).toEqual({ say: 'allow' });
    turn.say(result('d1'), ...answerTo('Written.'));
  };
  await using second = await rig(again, { approvals, data });
  await until(async () => (typesOf(await second.logOf(body.id)).includes('run-result') ? true : null));
  expect([words, (await openApproval(second)).id]).toEqual([[], approval.id]);
  await decide(second, approval.id, { decision: 'approve' });
  expect(await settled(second, body.id)).toMatchObject({ status: 'completed' });
  expect(words).toEqual([expect.stringContaining('was approved')]);
  await second.logOf(body.id);
});

test('B089: a call that was running when the server went is not made again by it: its outcome is unknown', async () => {
  const data = mkdtempSync(join(tmpdir(), 'reins-foreign-'));
  folders.push(data);
  const first = await rig(
    async ({ say }) =>
      say(begun, { is: 'call-whole', call: write }, accepted('tool-use'), { is: 'call-running', call: write }),
    { data },
  );
  const { body } = await first.uhp.create({ input: 'Go', background: true });
  await until(async () => (typesOf(await first.logOf(body.id)).includes('tool-dispatched') ? true : null));
  await first[Symbol.asyncDispose]();
  await using second = await rig(async ({ say, input }) => say(...answerTo(input)), { data });
  const end = await settled(second, body.id);
  expect([end.status, lastText(end)]).toEqual(['completed', expect.stringContaining('look before you repeat')]);
  const events = await second.logOf(body.id);
  expect(typesOf(events).filter((type) => type === 'tool-dispatched')).toHaveLength(1);
  expect(events.find(({ type }) => type === 'tool-call-complete')).toMatchObject({ data: { outcome: 'unknown' } });
});

test('B093: who only leaves stops nothing; who cancels does', async () => {
  const gate = Promise.withResolvers<void>();
  await using server = await rig(async (turn) => {
    turn.say(begun, text('First '));
    await Promise.race([gate.promise, turn.interrupted]);
    turn.say(text('second'), accepted(), done);
  });
  const { uhp } = server;
  const leave = async () => {
    const stream = await uhp.stream({ input: 'Go' });
    let id = '';
    for await (const { event } of stream.frames) {
      id = event.response?.id ?? id;
      if (event.delta !== undefined) break;
    }
    stream.leave();
    return id;
  };
  const [left, stopped] = [await leave(), await leave()];
  await uhp.cancel(stopped);
  expect((await settled(server, stopped)).status).toBe('cancelled');
  expect((await uhp.get(left)).body.status).toBe('in_progress');
  gate.resolve();
  const end = await settled(server, left);
  expect([end.status, lastText(end)]).toEqual(['completed', 'First second']);
});

const leaving: Readonly<Record<string, (turn: Turn) => Promise<unknown>>> = {
  'breaks out of': async (turn) => {
    for await (const _ of turn) break;
  },
  'returns from': async (turn) => {
    const groups = turn[Symbol.asyncIterator]();
    await groups.next();
    await groups.return?.();
  },
  'throws in': async (turn) => {
    const groups = turn[Symbol.asyncIterator]();
    await groups.next();
    await groups.throw?.(new Error('The reader is broken.')).catch(() => undefined);
  },
};

test.for(Object.entries(leaving))('B142, H-137: who %s a turn has seen its process end', async ([, leave]) => {
  const data = mkdtempSync(join(tmpdir(), 'reins-foreign-'));
  folders.push(data);
  const runtime = scriptedRuntime(data, async ({ say }) => say(begun, text('Half')));
  const stopped: number[] = [];
  const adapter: HarnessAdapter = {
    ...runtime.adapter,
    async openSession(options) {
      const session = await runtime.adapter.openSession(options);
      return {
        // eslint-disable-next-line require-yield -- it leaves before it has anything to say
        async *prompt(state, turn) {
          await leave(session.prompt(state, turn));
          stopped.push(runtime.stopped);
        },
        [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
      };
    },
  };
  await using server = await startServer({ data, settings: scriptedSettings, adapters: [adapter] });
  const { body } = await server.uhp.create({ input: 'Go' });
  expect([body.status, stopped]).toEqual(['failed', [1]]);
});
