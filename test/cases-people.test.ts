// What people are asked while agents work for agents, and what is done before and after.

import { describe, expect, test } from 'vitest';
import { answerOf } from './support/event-stream.ts';
import { appendFileSync, readFileSync } from 'node:fs';
import { askedBy, say as tell, startAsked, startAsking } from './support/asking-server.ts';
import { call, reply, say } from './support/model.ts';
import { counted, openRuntime, standing, theOpen } from './support/runtimes.ts';
import { createScriptedModel } from '../src/testing/scripted-model.ts';
import { ended } from './support/uhp.ts';
import { join } from 'node:path';
import { scriptedAgent } from './support/agents.ts';
import { simpleCall, simpleText } from '../src/testing/model-servers/reply-script.ts';
import { temporaryFolder } from './support/folders.ts';
import type { AgentParts } from '../src/agent.ts';
import type { JsonValue } from '../src/core/json.ts';

const questionOf = (id: string): JsonValue => ({ questions: [{ id, question: `${id}?` }] });

describe('B086: a gated tool behind a sub-agent that had gated tools', () => {
  const world = () => {
    const tool = counted('write', { permission: 'ask' });
    const child = createScriptedModel([simpleCall('c', 'write', { by: 'child' }), simpleText('Helped.')]);
    const replies = [
      simpleCall('first', 'write', { by: 'parent' }),
      simpleCall('d', 'delegate_helper', { task: 'Help.' }),
      simpleCall('again', 'write', { by: 'parent, again' }),
      simpleCall('last', 'write', { by: 'parent, at last' }),
      simpleText('Done.'),
    ];
    const helper = { name: 'helper', description: 'Helps.', parts: { provider: child, tools: [tool] } };
    return { tool, replies, parts: { tools: [tool], subagents: [helper] } satisfies AgentParts };
  };
  const said = { first: true, c: true, again: true, last: false };

  test('in a program: the callback is asked each time, told who asks, and each word counts for its call', async () => {
    const { tool, replies, parts } = world();
    await using rig = scriptedAgent(replies, parts);
    const asked: string[] = [];
    const result = await rig.agent.run('Go.', {
      onApproval({ call: { id }, agentPath = [] }) {
        asked.push([...agentPath, id].join('/'));
        return Object.entries(said).some(([name, yes]) => name === id && yes);
      },
    });
    expect(asked).toEqual(['first', 'helper/c', 'again', 'last']);
    expect([result.output, tool.runs()]).toEqual(['Done.', 3]);
  });

  test('over a store, with a new process before each word: it is asked for, and run or not as that says', async () => {
    const { tool, replies, parts } = world();
    await using rig = openRuntime(replies, { parts });
    const { runId } = await rig.runtime.submit('Go.');
    for (const [id, yes] of Object.entries(said)) {
      const { approvalId, pending } = await theOpen(rig.runtime, { runId });
      expect([pending.call.id, pending.agentPath ?? []]).toEqual([id, id === 'c' ? ['helper'] : []]);
      await rig.restart();
      await rig.runtime.approvals.decide(approvalId, { decision: yes ? 'approve' : 'deny' });
    }
    await standing(rig.runtime, runId, 'completed');
    expect([await (await rig.runtime.handle(runId)).result(), tool.runs()]).toMatchObject([{ output: 'Done.' }, 3]);
  });
});

describe('B088: an effect, then a question, then another one', () => {
  test('over HTTP, with a restart between the answers: the effect is had once, each question is put once', async () => {
    const replies = {
      go: [
        reply(call('e', 'bash', { command: 'echo x >> ran' })),
        reply(call('qa', 'ask_user_questions', { questions: [{ id: 'a', question: 'a?' }] })),
        reply(call('qb', 'ask_user_questions', { questions: [{ id: 'b', question: 'b?' }] })),
        say('Thank you.'),
      ],
    };
    await using place = await startAsking({
      replies,
      permissions: { mode: 'allow-all' },
      settings: { agent: { shell: { kind: 'host' } } },
    });
    const { task, asked: first } = await startAsked(place.uhp, { input: 'go' });
    await tell(place.uhp, first, 'answer', { answers: [{ id: 'a', text: 'one' }] });
    const [second] = await askedOther(place.uhp, task.id, first.id);
    await place.restart();
    if (second === undefined) throw new Error('Nothing more is asked.');
    await tell(place.uhp, second, 'answer', { answers: [{ id: 'b', text: 'two' }] });
    const final = await ended(place.uhp, task.id);
    expect([final.status, answerOf(final)]).toEqual(['completed', 'Thank you.']);
    const ran = readFileSync(join(place.data, 'workspaces', task.metadata.session_id, 'ran'), 'utf8');
    expect([ran, place.model.asked('go').length]).toEqual(['x\n', 4]);
    const asked = final.output.filter(({ name }) => name === 'ask_user_questions');
    expect(asked.map(({ call_id }) => call_id)).toEqual(['qa', 'qb']);
  });

  test('inside a sub-agent, with a new process before each answer: the same', async () => {
    const ran = join(temporaryFolder(), 'ran');
    const effect = counted('effect', { run: async () => (appendFileSync(ran, 'x'), { content: 'done' }) });
    const child = createScriptedModel([
      simpleCall('e', 'effect', {}),
      simpleCall('qa', 'ask_user_questions', questionOf('a')),
      simpleCall('qb', 'ask_user_questions', questionOf('b')),
      simpleText('Helped.'),
    ]);
    const helper = {
      name: 'helper',
      description: 'Helps.',
      config: { questions: true },
      parts: { provider: child, tools: [effect] },
    };
    await using rig = openRuntime([simpleCall('d', 'delegate_helper', { task: 'Help.' }), simpleText('Done.')], {
      parts: { subagents: [helper] },
    });
    const { runId } = await rig.runtime.submit('Go.');
    const put: string[] = [];
    for (const id of ['a', 'b']) {
      const { approvalId, pending } = await theOpen(rig.runtime, { runId });
      put.push(pending.call.id);
      await rig.restart();
      await rig.runtime.approvals.answer(approvalId, [{ id, text: `word on ${id}` }]);
    }
    await standing(rig.runtime, runId, 'completed');
    expect([put, readFileSync(ran, 'utf8'), child.calls.length, rig.model.calls.length]).toEqual([
      ['qa', 'qb'],
      'x',
      4,
      2,
    ]);
    const read = JSON.stringify(child.calls.at(-1)?.prompt);
    expect([read.includes('word on a'), read.includes('word on b')]).toEqual([true, true]);
    const all = await rig.runtime.approvals.list({ runId, status: 'all' });
    expect(all.map(({ pending }) => pending.call.id).toSorted()).toEqual(['qa', 'qb']);
  });
});

/** What is asked once something else than that is. */
async function askedOther(uhp: Parameters<typeof askedBy>[0], responseId: string, known: string) {
  for (;;) {
    const open = await askedBy(uhp, responseId);
    if (open.every(({ id }) => id !== known)) return open;
  }
}
