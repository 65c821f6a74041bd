import { afterEach, expect, test } from 'vitest';
import { admissionOf, continuationOf } from '../testing/store-samples.ts';
import { createLogBuilder, type StepScript } from '../testing/log-builder.ts';
import { createRunLog } from '../stores/run-log.ts';
import { finish, lastSeq, write } from '../testing/store-steps.ts';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { readHistory } from './read-history.ts';
import { silentLogger } from '../core/logger.ts';
import { systemClock } from '../system.ts';
import { todoCounts } from '../core/todos.ts';
import type { Store } from '../stores/store.ts';
import type { Admission } from '../stores/admission.ts';
import type { EventData, EventDraft } from '../core/run-event.ts';
import type { Message } from '../core/transcript.ts';

const opened: Store[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store[Symbol.asyncDispose]();
});

/** A session of runs that have ended, each with these events after its first one. */
async function sessionOf(runs: readonly (readonly EventDraft[])[]) {
  const store = openSqlite(':memory:');
  opened.push(store);
  const log = createRunLog({ store, clock: systemClock, logger: silentLogger });
  let last: Admission | null = null;
  for (const [index, drafts] of runs.entries()) {
    const admission: Admission = last === null ? admissionOf('a') : continuationOf(`b${index}`, last);
    await store.admit(admission);
    await write(store, admission, drafts);
    await finish(store, admission, await lastSeq(store, admission));
    last = admission;
  }
  const { sessionId } = last ?? admissionOf('a');
  return (turn = runs.length + 1) => readHistory({ store, log }, { sessionId, turn });
}

const draftsOf = (...steps: readonly StepScript[]): readonly EventDraft[] => {
  const log = createLogBuilder();
  log.start();
  for (const step of steps) log.step(step);
  return log.events.slice(1);
};
const says = (text: string): StepScript => ({ blocks: [{ kind: 'text', pieces: [text] }] });
const callsFor = (content: string): StepScript => ({
  blocks: [{ kind: 'call', id: 'c', pieces: ['{}'], outcome: 'ok', content }],
});
const compacted = (change: Pick<EventData['compacted'], 'method' | 'throughSeq' | 'summary'>): EventDraft => ({
  type: 'compacted',
  step: 0,
  attempt: 0,
  data: { trigger: 'auto', tokensBefore: 2, tokensAfter: 1, usage: null, ...change },
});
const todosOf = (content: string, agentPath?: readonly string[]): EventDraft => ({
  type: 'todos-updated',
  step: 1,
  attempt: 0,
  data: todoCounts([{ content, status: 'pending' }]),
  ...(agentPath === undefined ? {} : { agentPath }),
});

const shown = (messages: readonly Message[]) =>
  messages.map((message) => {
    switch (message.role) {
      case 'user':
        return message.content.map((part) => (part.type === 'text' ? part.text : part.type)).join();
      case 'assistant':
        return message.parts.map((part) => (part.kind === 'tool-call' ? 'call' : part.text)).join();
      case 'tool':
        return message.answers.map(({ content }) => content.slice(0, 20)).join();
    }
  });

test('it is the conversation of the runs before this one, without the places they had', async () => {
  const history = await sessionOf([draftsOf(callsFor('found'), says('One.')), draftsOf(says('Two.'))]);
  const { messages, todos } = await history();
  expect(shown(messages)).toEqual(['hello', 'call', 'found', 'One.', 'hello', 'Two.']);
  expect(messages.every((message) => !('seq' in message))).toBe(true);
  expect(todos).toBeNull();
  expect(shown((await history(2)).messages)).toEqual(['hello', 'call', 'found', 'One.']);
  expect((await history(1)).messages).toEqual([]);
});

test('E-442: what a run left out of its view stays out of that of later runs', async () => {
  const long = 'x'.repeat(500);
  const summary = compacted({ method: 'summary', throughSeq: 0, summary: 'In short.' });
  const history = await sessionOf([
    draftsOf(callsFor(long), says('One.')),
    [compacted({ method: 'prune', throughSeq: 0 }), ...draftsOf(says('Two.'))],
    [summary, ...draftsOf(says('Three.'))],
    draftsOf(says('Four.')),
  ]);
  expect(shown((await history(2)).messages)[2]).toBe('x'.repeat(20));
  expect(shown((await history(3)).messages)[2]).toBe('[Old tool output was');
  const { messages } = await history();
  expect(shown(messages)[0]).toContain('In short.');
  expect(shown(messages).slice(1)).toEqual(['hello', 'Three.', 'hello', 'Four.']);
});

test('E-642: the task list is that of the newest run that wrote one, a helper that has its own aside', async () => {
  const history = await sessionOf([
    [...draftsOf(says('One.')), todosOf('old')],
    [...draftsOf(says('Two.')), todosOf('new'), todosOf('inner', ['helper'])],
    draftsOf(says('Three.')),
  ]);
  expect((await history()).todos).toEqual([{ content: 'new', status: 'pending' }]);
  expect((await history(2)).todos).toEqual([{ content: 'old', status: 'pending' }]);
});
