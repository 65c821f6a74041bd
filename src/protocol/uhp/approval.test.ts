import { describe, expect, test } from 'vitest';
import { approvalIds, harnessIds, runIds, sessionIds } from '../../core/ids.ts';
import { InvalidInputError } from '../../core/errors.ts';
import { parseAnswer, parseDecide, parseResolve, toApproval } from './approval.ts';
import { parseQueuedTask } from './queue.ts';
import { parseSteer } from './steer.ts';
import type { PendingTool } from '../../core/run-event.ts';

function paramOf(parse: (body: unknown) => unknown, body: unknown): string | null {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof InvalidInputError) return error.param;
    throw error;
  }
  throw new Error('It was not refused.');
}

const runId = runIds.make('1');
const pending: PendingTool = {
  approvalId: approvalIds.make('1'),
  kind: 'question',
  executionKey: 'k',
  runId,
  step: 2,
  call: { id: 'c', name: 'ask_user_questions', input: { b: 1, a: '\u00fc' } },
  argsDigest: 'd',
  replay: 'manual',
  toolAttempt: 0,
  status: 'pending',
  requestedAtMs: 1_786_400_000_999,
  expiresAtMs: 1_786_400_600_999,
  questions: [
    { id: 'q', question: 'Which?', options: ['a', 'b'] },
    { id: 'r', question: 'Why?' },
  ],
};
const place = { runId, sessionId: sessionIds.make('1'), harnessId: harnessIds.make('1'), callId: 'c_2' };

test('UR-05: an approval has every key, arguments as text, seconds, and the words of its questions', () => {
  expect(toApproval(pending, place, null)).toEqual({
    id: 'apr_1',
    object: 'reins.approval',
    kind: 'question',
    status: 'pending',
    response_id: 'resp_1',
    session_id: 'hsess1',
    harness_id: 'chrn_1',
    call_id: 'c_2',
    name: 'ask_user_questions',
    arguments: '{"b":1,"a":"ü"}',
    arguments_digest: 'd',
    reason: null,
    questions: [
      { id: 'q', question: 'Which?', options: ['a', 'b'], allow_multiple: false, allow_free_form: false },
      { id: 'r', question: 'Why?', options: [], allow_multiple: false, allow_free_form: true },
    ],
    agent_path: [],
    requested_at: 1_786_400_000,
    expires_at: 1_786_400_600,
    decision: null,
  });
});

test('UR-05, E-613: what was said, by whom, when, and the rule it made', () => {
  const said = { decision: 'deny', by: 'ada', atMs: 1_786_400_001_500, note: 'Not there.' } as const;
  const whole = { decision: 'deny', by: 'ada', at: 1_786_400_001, note: 'Not there.', rule_id: null };
  const { questions: _, ...approval } = pending;
  expect(toApproval({ ...approval, kind: 'approval', status: 'denied' }, place, said)).toMatchObject({
    status: 'denied',
    questions: null,
    decision: whole,
  });
});

describe('UR-12 to UR-14: bodies at the door', () => {
  test('a decision, its note and what is to be remembered', () => {
    const plain = { verb: 'decide', argsDigest: null, note: null, remember: null };
    expect(parseDecide({ decision: 'approve', note: null, unknown: 1 })).toEqual({ ...plain, decision: 'approve' });
    const remember = { scope: 'session', match: { path_prefix: 'src' } };
    expect(parseDecide({ decision: 'deny', arguments_digest: 'd', note: 'n', remember })).toEqual({
      verb: 'decide',
      decision: 'deny',
      argsDigest: 'd',
      note: 'n',
      remember: { scope: 'session', match: { pathPrefix: 'src' } },
    });
  });

  test('answers, or that there are none', () => {
    const given = {
      answers: [
        { id: 'q', selected: ['a'] },
        { id: 'r', text: 'because', selected: null },
      ],
    };
    expect(parseAnswer(given)).toEqual({
      verb: 'answer',
      answers: [
        { id: 'q', selected: ['a'] },
        { id: 'r', text: 'because' },
      ],
    });
    expect(parseAnswer({ declined: true })).toEqual({ verb: 'answer', answers: 'declined' });
    expect(parseAnswer({ answers: [] })).toEqual({ verb: 'answer', answers: [] });
  });

  test('a word on an unknown outcome', () => {
    expect(parseResolve({ action: 'retry' })).toEqual({ verb: 'resolve', action: 'retry' });
    expect(parseResolve({ action: 'result', output: 'it ran' })).toEqual({
      verb: 'resolve',
      action: { output: 'it ran', isError: false },
    });
  });

  const refused: [string, (body: unknown) => unknown, unknown, string | null][] = [
    ['no decision', parseDecide, {}, 'decision'],
    ['another word', parseDecide, { decision: 'yes' }, 'decision'],
    [
      'a scope that is none',
      parseDecide,
      { decision: 'deny', remember: { scope: 'all', match: 'tool' } },
      'remember.scope',
    ],
    [
      'a match that is none',
      parseDecide,
      { decision: 'deny', remember: { scope: 'run', match: 'x' } },
      'remember.match',
    ],
    ['a note that is none', parseDecide, { decision: 'deny', note: 5 }, 'note'],
    ['a note without end', parseDecide, { decision: 'deny', note: 'x'.repeat(10_001) }, 'note'],
    ['no object', parseDecide, 'approve', null],
    ['neither answers nor declined', parseAnswer, { declined: false }, 'answers'],
    ['both', parseAnswer, { declined: true, answers: [] }, 'answers'],
    ['an answer without id', parseAnswer, { answers: [{ id: 'q' }, {}] }, 'answers[1].id'],
    ['no action', parseResolve, { action: 'again' }, 'action'],
    ['a result without output', parseResolve, { action: 'result' }, 'output'],
    ['a message without input', parseSteer, {}, 'input'],
    ['an id with a space', parseSteer, { input: 'x', message_id: 'a b' }, 'message_id'],
    ['words of another role', parseSteer, { input: [{ role: 'system', content: 'x' }] }, 'input[0].role'],
    [
      'a task that names what it follows',
      parseQueuedTask,
      { input: 'x', previous_response_id: 'resp_1' },
      'previous_response_id',
    ],
    ['a queued stream', parseQueuedTask, { input: 'x', stream: false }, 'stream'],
    ['a task of nothing', parseQueuedTask, { message_id: 'm' }, 'input'],
  ];
  test.each(refused)('%s is refused with its path', (_, parse, body, param) => {
    expect(paramOf(parse, body)).toBe(param);
  });
});

test('UR-20: the texts of a steering message become one', () => {
  const input = [
    { role: 'user', content: 'left' },
    { role: 'user', content: [{ type: 'input_text', text: 'then right' }] },
  ];
  expect(parseSteer({ input, message_id: 'm-1' })).toEqual({
    content: [
      { type: 'text', text: 'left' },
      { type: 'text', text: 'then right' },
    ],
    messageId: 'm-1',
  });
  expect(parseSteer({ input: 'left' }).messageId).toBeNull();
});

test('UR-21, UR-33: the message id is no part of what two queued tasks are compared by', () => {
  const { task, messageId } = parseQueuedTask({ input: 'x', model: 'm', message_id: 'm-1', stream: null });
  expect(messageId).toBe('m-1');
  expect(task.ignoredFields).toEqual([]);
  expect(task.bodyHashInput).toEqual({ input: 'x', model: 'm' });
});
