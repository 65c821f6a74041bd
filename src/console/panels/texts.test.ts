import { expect, test } from 'vitest';
import { agoText } from './time-text.ts';
import { argumentsOf } from './approval-text.ts';
import { verdictText } from '../state/verdict-text.ts';
import { bitsOf } from './tool-line.ts';
import { looseApprovals, approvalsOf } from './approval-place.ts';
import { sizeText } from './size-text.ts';
import type { ApprovalCard } from '../state/state.ts';
import type { Row } from '../state/row.ts';

test.each([
  ['read', 'read · ✓ ok · src/a.ts · 3 lines', 'src/a.ts · 3 lines'],
  ['read', 'read · ✗ failed · no such file', 'no such file'],
  ['read', 'read · ✓ ok', ''],
  ['read', 'read', ''],
  ['read', '', ''],
  ['read', 'something else', 'something else'],
])('C-020: the line of %s with the brief %j says no word twice', (name, brief, bits) => {
  expect(bitsOf({ name, brief })).toBe(bits);
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

const card = (approval: object, answer: ApprovalCard['answer'] = { kind: 'none' }) =>
  ({ approval: { decision: null, expires_at: null, ...approval }, answer }) as unknown as ApprovalCard;
const decided = (facts: object) => ({ decision: 'x', by: 'ada', at: 1, note: null, rule_id: null, ...facts });

test.each([
  [card({ status: 'approved', decision: decided({}) }), 'Allowed once by ada'],
  [card({ status: 'approved', decision: decided({ rule_id: 'rule_1' }) }), 'Always allowed by ada'],
  [card({ status: 'denied', decision: decided({ note: 'not there' }) }), 'Denied by ada · not there'],
  [card({ status: 'denied', decision: decided({}) }, { kind: 'conflict' }), 'Decided elsewhere: Denied by ada'],
  [card({ status: 'expired' }), 'Expired'],
  [card({ status: 'pending' }, { kind: 'closed' }), 'No longer pending'],
])('C-051: the verdict stays readable: %#', (given, text) => {
  expect(verdictText(given, false)).toBe(text);
});

test('an approval stands with its call, and at the end where its call has no row', () => {
  const row = { kind: 'tool_run', items: [{ id: 'c1' }, { id: null }] } as unknown as Row & { kind: 'tool_run' };
  const [own, other] = [card({ call_id: 'c1' }), card({ call_id: 'c2' })];
  expect(approvalsOf(row, [own, other])).toEqual([own]);
  expect(looseApprovals([row], [own, other])).toEqual([other]);
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
