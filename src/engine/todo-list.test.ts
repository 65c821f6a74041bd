// The task list in a run: E-640 to E-642, and the reminder of E-408.

import { describe, expect, test } from 'vitest';
import { createEngineRig, type EngineRig, type EngineRigOptions } from '../testing/engine-rig.ts';
import { simpleCall, simpleCalls, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import type { Todo } from '../core/run-event.ts';

const todo = (content: string, status: Todo['status'] = 'pending'): Todo => ({ content, status });
const write = (id: string, ...todos: readonly Todo[]) =>
  simpleCall(id, 'write_todos', { todos: todos.map((each) => ({ ...each })) });
const done = simpleText('Done.');
const plan = (options: EngineRigOptions) => createEngineRig({ config: { planning: true }, ...options });
const updates = (rig: EngineRig) => rig.events('todos-updated').map(({ data }) => data);

describe('E-641, E-129: todos-updated', () => {
  test('has the whole list and its counts, after the last result of its batch and before the end of the step', async () => {
    const rig = plan({
      replies: [
        write('a', todo('One', 'completed'), todo('Two', 'in_progress')),
        write('b', todo('Two', 'completed')),
        done,
      ],
    });
    expect(await rig.run()).toMatchObject({ todos: [todo('Two', 'completed')] });
    expect(updates(rig)).toEqual([
      { todos: [todo('One', 'completed'), todo('Two', 'in_progress')], completed: 1, total: 2, inProgress: 'Two' },
      { todos: [todo('Two', 'completed')], completed: 1, total: 1, inProgress: null },
    ]);
    const types = rig.log.map(({ type }) => type);
    const at = types.indexOf('todos-updated');
    expect([types[at - 1], types[at + 1]]).toEqual(['tool-result', 'step-finished']);
  });

  test('comes once a batch, with the last list', async () => {
    const batch = simpleCalls(
      ['a', 'write_todos', { todos: [todo('One', 'completed')] as never }],
      ['b', 'write_todos', { todos: [todo('Two', 'completed')] as never }],
    );
    const rig = plan({ replies: [batch, done] });
    await rig.run();
    expect(updates(rig)).toMatchObject([{ todos: [{ content: 'Two' }] }]);
  });

  test('E-512: comes also where the model calls the tool by an alias', async () => {
    const rig = plan({
      replies: [simpleCall('a', 'functions.WriteTodos', { todos: [todo('One', 'completed')] as never }), done],
    });
    await rig.run();
    expect(updates(rig)).toHaveLength(1);
  });

  test('13.2 row 11: is written by the next owner when the run was cut before it', async () => {
    const rig = plan({ replies: [write('a', todo('One', 'completed')), done] });
    await rig.run({ leaveAt: 'tool-result' });
    expect(updates(rig)).toEqual([]);
    expect(await rig.recover()).toMatchObject({ todos: [todo('One', 'completed')] });
    expect(updates(rig)).toHaveLength(1);
  });
});

describe('E-642: no todos-updated', () => {
  test('for a read, for the same list, for a list that was refused', async () => {
    const replies = [
      write('a', todo('One', 'completed')),
      simpleCall('b', 'read_todos', {}),
      write('c', todo('One', 'completed')),
      simpleCall('d', 'write_todos', { todos: [{ content: '', status: 'pending' }] }),
      done,
    ];
    const rig = plan({ replies });
    await rig.run();
    expect(updates(rig)).toHaveLength(1);
    expect(rig.answers()).toMatchObject({
      b: expect.stringContaining('[completed] One'),
      d: expect.stringContaining('not changed'),
    });
  });

  test('for the list of an earlier run of the session, which the model reads and may write again', async () => {
    const todos = [todo('Old', 'completed')];
    const rig = plan({ replies: [simpleCall('r', 'read_todos', {}), write('a', ...todos), done], todos });
    await rig.run();
    expect(updates(rig)).toEqual([]);
    expect(rig.answers()['r']).toContain('Old');
    expect(JSON.stringify(rig.model.calls[0]?.prompt.at(-1))).toContain('Old');
  });
});

test('E-642: the list stands at the tail of each request', async () => {
  const rig = plan({ replies: [write('a', todo('One', 'completed')), done] });
  await rig.run();
  const requests = rig.model.calls.map(({ prompt }) => JSON.stringify(prompt.at(-1)));
  expect(requests.map((last) => last.includes('One'))).toEqual([false, true]);
});

test('E-640: of several entries in progress the first keeps that status, and the answer says so', async () => {
  const rig = plan({
    replies: [write('a', todo('One', 'in_progress'), todo('Two', 'in_progress')), simpleText('a'), simpleText('b')],
  });
  await rig.run();
  expect(updates(rig)).toMatchObject([
    { inProgress: 'One', todos: [{ status: 'in_progress' }, { status: 'pending' }] },
  ]);
  expect(rig.answers()['a']).toContain('Only one entry');
});

describe('E-408: an open list at the end', () => {
  test('is mentioned once a run; the earlier answer is kept, and joined with a blank line', async () => {
    const rig = plan({ replies: [write('a', todo('One')), simpleText('First.'), simpleText('Second.')] });
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'First.\n\nSecond.' });
    expect(rig.events('user-message')).toMatchObject([{ data: { mode: 'engine', purpose: 'todo-reminder' } }]);
  });

  test('a run that fails after it has the first answer alone', async () => {
    const refused: ScriptedReply = { fault: { kind: 'status', status: 400 } };
    const rig = plan({ replies: [write('a', todo('One')), simpleText('First.'), refused] });
    expect(await rig.run()).toMatchObject({ status: 'failed', output: 'First.' });
  });

  test('is not mentioned where all is done, nor without planning', async () => {
    const closed = plan({ replies: [write('a', todo('One', 'completed')), done] });
    expect(await closed.run()).toMatchObject({ output: 'Done.', steps: 2 });
    const off = createEngineRig({ replies: [write('a', todo('One')), done] });
    expect(await off.run()).toMatchObject({ output: 'Done.', steps: 2 });
  });
});
