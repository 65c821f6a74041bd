import { expect, test } from 'vitest';
import { agoText } from './time-text.ts';
import { argumentsOf, askedLine } from '../state/call-arguments.ts';
import { verdictText } from '../state/verdict-text.ts';
import { bitsOf } from './tool-line.ts';
import { looseApprovals, approvalsOf } from './approval-place.ts';
import { sizeText } from './size-text.ts';
import { initialState, type ApprovalCard, type ConsoleState } from '../state/state.ts';
import type { Approval } from '../state/wire.ts';
import type { ToolRow } from '../state/row.ts';

test.each([
  ['read', 'read · ✓ ok · src/a.ts · 3 lines', 'src/a.ts · 3 lines'],
  ['read', 'read · ✗ failed · no such file', 'no such file'],
  ['read', 'read · ✓ ok', ''],
  ['read', 'read', ''],
  ['read', '', ''],
  ['read', 'something else', 'something else'],
])('C-020: the line of %s with the brief %j says no word twice', (name, brief, bits) => {
  expect(bitsOf({ name, brief, detail: null })).toBe(bits);
});

test('A-054: the line of a command that failed says how it ended', () => {
  const detail = 'line 1\nline 2\nExit code 3.';
  expect(bitsOf({ name: 'bash', brief: 'bash · ✗ failed · line 1', detail })).toBe('exit code 3 · line 1');
});

test('C-050: arguments are shown as they are: texts without quotes, all else as JSON, what is no object whole', () => {
  expect(argumentsOf('{"command":"a\\nb","timeout":5,"cwd":"/w"}')).toEqual({
    entries: [
      ['command', 'a\nb'],
      ['timeout', '5'],
      ['cwd', '/w'],
    ],
    cwd: '/w',
  });
  for (const odd of ['[1]', '"x"', 'null', '{broken'])
    expect(argumentsOf(odd)).toEqual({ entries: [['arguments', odd]], cwd: null });
});

test.each([
  ['{"timeout":5,"command":"npm  test\\n-- --all","cwd":"/w"}', 'npm test -- --all'],
  ['{"content":"a","path":"notes.md"}', 'notes.md'],
  ['{"seconds":2}', '2'],
  ['{"from":"a","to":["b"]}', 'from: a'],
  ['{"todos":[{"content":"x"}]}', ''],
  ['{"todos":[],"deep":true}', 'todos: [] · deep: true'],
  ['{}', ''],
  ['{"command":"cut off', '{"command":"cut off'],
])('C-020: of a call with %s its line says %j', (json, line) => {
  expect(askedLine(json)).toBe(line);
  expect(askedLine(JSON.stringify({ command: 'x'.repeat(1_000) }))).toHaveLength(200);
});

const card = (approval: object, answer: ApprovalCard['answer'] = { kind: 'none' }) =>
  ({ approval: { decision: null, expires_at: null, ...approval }, answer }) as unknown as ApprovalCard;
const decided = (facts: object) => ({ decision: 'x', by: 'ada', at: 1, note: null, rule_id: null, ...facts });

test.each([
  [card({ status: 'approved', decision: decided({}) }), 'Allowed once by ada'],
  [card({ status: 'approved', decision: decided({ rule_id: 'rule_1' }) }), 'Always allowed by ada'],
  [card({ status: 'denied', decision: decided({ note: 'not there' }) }), 'Denied by ada · not there'],
  [card({ status: 'denied', decision: decided({}) }, { kind: 'conflict' }), 'Decided elsewhere: Denied by ada'],
  [card({ status: 'answered', decision: decided({ decision: 'decline' }) }), 'Not answered by ada'],
  [card({ status: 'resolved', decision: decided({ decision: 'abort' }) }), 'Given up by ada'],
  [card({ status: 'resolved', decision: decided({ decision: 'retry' }) }), 'Run again by ada'],
  [card({ status: 'expired' }), 'Expired'],
  [card({ status: 'pending' }, { kind: 'closed' }), 'No longer pending'],
])('C-051: the verdict stays readable: %#', (given, text) => {
  expect(verdictText(given, false)).toBe(text);
});

test('an approval stands with its call; where that has no row at the end of its turn, and below all while it waits', () => {
  const row = (turn: string) => ({ kind: 'tool_run', turn, items: [{ id: 'c1' }, { id: null }] }) as unknown as ToolRow;
  const of = (approval: Partial<Approval>, answer?: ApprovalCard['answer']) =>
    card({ response_id: 'resp_1' as Approval['response_id'], status: 'approved', ...approval }, answer);
  const [own, loose, waits] = [of({ call_id: 'c1' }), of({ call_id: 'c2' }), of({ call_id: 'c3', status: 'pending' })];
  const away = of({ call_id: 'c1' }, { kind: 'dismissed' });
  const state: ConsoleState = {
    ...initialState,
    rows: [row('resp_0'), row('m1')],
    responses: new Map([['m1', 'resp_1']]),
    approvals: [own, loose, waits, away],
  };
  expect(state.rows.map((each) => approvalsOf(each as ToolRow, state))).toEqual([[], [own]]);
  expect(['resp_0', 'm1', null].map((each) => looseApprovals(state, each))).toEqual([[], [loose], [waits]]);
});

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_449, '1.4 kB'],
  [48_211, '48 kB'],
  [23_400_000, '23 MB'],
  [5e12, '5.0 TB'],
])('%d bytes are %s', (bytes, text) => expect(sizeText(bytes)).toBe(text));

test.each([
  [20, 'now'],
  [5 * 60, '5 min'],
  [3 * 3_600, '3 h'],
  [20 * 3_600, 'Yesterday'],
  [9 * 86_400, '3 May'],
  [400 * 86_400, '7 Apr 2025'],
])('%d seconds ago is %s', (seconds, text) => {
  const now = new Date(2026, 4, 12, 15).getTime();
  expect(agoText(now - seconds * 1_000, now)).toBe(text);
});
