// A turn of a host goes on in another process, whatever becomes of the first one (P-082): no gap, nothing twice, and no call
// of the model again.

import { afterAll, expect, test } from 'vitest';
import { call, createGate, hold, reply, say, startModel, text } from './support/model.ts';
import { join } from 'node:path';
import { startProgram, temporaryFolder } from './reins-process.ts';
import type { ScriptedReply } from '../src/testing/index.ts';

const program = join(import.meta.dirname, 'fixtures/harness-agent-child.ts');
const opened = new AsyncDisposableStack();
afterAll(() => opened.disposeAsync());

interface Said {
  readonly text?: string;
  readonly approvalId?: string;
  readonly output?: unknown;
  readonly end?: string;
  readonly state?: object;
}

async function host(script: readonly ScriptedReply[]) {
  const gate = createGate();
  const model = opened.use(await startModel(() => script, gate));
  const database = join(temporaryFolder(), 'runs.sqlite');
  const start = (env: Readonly<Record<string, string>> = {}) => {
    const { child, saw, ended } = startProgram(program, [], {
      env: { ...model.env, REINS_TEST_DATABASE: database, ...env },
    });
    const lines = (all: string): readonly Said[] =>
      all
        .slice(0, all.lastIndexOf('\n') + 1)
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line));
    return {
      child,
      saw: async (what: string) => lines(await saw(what)),
      suspend: async () => {
        child.stdin?.write('suspend\n');
        return JSON.stringify(lines(await saw('"state":')).find((line) => 'state' in line)?.state);
      },
      ended: async () => {
        const { code, stdout, stderr } = await ended;
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        return lines(stdout);
      },
    };
  };
  return { gate, start, asked: () => model.server.requests.length };
}

const textOf = (said: readonly Said[]) => said.map((line) => line.text ?? '').join('');

test('suspended in the middle of a reply: the other process shows the rest of it, while the first one drives', async () => {
  const { gate, start, asked } = await host([reply(text('One, ', 'two, '), hold, text('three, ', 'four.'))]);
  const first = start();
  await first.saw('two');
  const state = await first.suspend();
  expect(JSON.parse(state).data).toEqual({ runId: expect.stringMatching(/^resp_/), seq: expect.any(Number) });
  const second = start({ REINS_TEST_STATE: state });
  gate.open();
  const rest = await second.ended();
  expect(textOf([...(await first.saw('"state"')), ...rest])).toBe('One, two, three, four.');
  expect(rest.at(-1)).toEqual({ end: 'stop' });
  expect(asked()).toBe(1);
}, 30_000);

test('killed with -9 while a person is asked: decided in the other process, the call runs and the turn goes on', async () => {
  const { start, asked } = await host([reply(text('Let me. '), call('a', 'guarded', {})), say('It is done.')]);
  const first = start();
  const [{ approvalId = '' } = {}] = (await first.saw('"approvalId"')).filter((line) => 'approvalId' in line);
  const state = await first.suspend();
  first.child.kill('SIGKILL');
  const second = await start({ REINS_TEST_STATE: state, REINS_TEST_APPROVE: approvalId }).ended();
  expect(second).toEqual([{ output: 'left' }, { text: 'It is done.' }, { end: 'stop' }]);
  expect(asked()).toBe(2);
}, 30_000);

test('killed with -9 in the middle of a reply: that one alone is asked for again, and shown in a block of its own', async () => {
  const { gate, start, asked } = await host([
    reply(call('a', 'look', {})),
    reply(text('One, ', 'two, '), hold, text('three.')),
  ]);
  const first = start();
  await first.saw('two');
  const state = await first.suspend();
  first.child.kill('SIGKILL');
  const second = start({ REINS_TEST_STATE: state });
  gate.open();
  expect(textOf(await second.ended())).toBe('One, two, three.');
  expect(asked()).toBe(3);
}, 30_000);
