import { expect, test } from 'vitest';
import { busyRig, event, type Rig } from './rig.ts';
import { ruleOffers } from './approvals.ts';
import { statusText } from './status.ts';
import type { Approval } from './wire.ts';

const created = { type: 'created', responseId: 'resp_1', sessionId: 'hsess1', model: 'demo' } as const;
const approval = (of: Partial<Approval>) =>
  ({
    id: 'apr_1',
    kind: 'approval',
    status: 'pending',
    response_id: 'resp_1',
    call_id: 'c1',
    name: 'bash',
    arguments: '{}',
    arguments_digest: 'd1',
    expires_at: null,
    decision: null,
    ...of,
  }) as Approval;
const decided = approval({
  status: 'approved',
  decision: { decision: 'approve', by: 'owner', at: 1, note: null, rule_id: null },
});
const verdict = {
  type: 'verdict_given',
  approvalId: 'apr_1',
  verdict: { verb: 'decide', body: { decision: 'approve' } },
} as const;
const waiting = () => busyRig().hear(created, { type: 'approval_required', approval: approval({}) });

test('C-031, C-050: a turn that waits for a person has not ended, is told as an alert, and takes no focus', () => {
  const rig = waiting();
  expect([rig.shown, rig.state.phase.name, statusText(rig.state)]).toEqual([
    ['U'],
    'busy',
    'Waiting for your decision',
  ]);
  expect(rig.effects.at(-1)).toEqual({ type: 'announce', text: 'bash waits for your decision', urgency: 'alert' });
  expect(rig.effects.some(({ type }) => type === 'focus')).toBe(false);
});

test('C-051, B085: a decision carries the digest, is sent once, and stays readable; the next open one gets the focus', () => {
  const rig = waiting().hear({ type: 'approval_required', approval: approval({ id: 'apr_2' as Approval['id'] }) });
  rig.do(verdict, verdict);
  expect(rig.effects.filter(({ type }) => type === 'decide')).toEqual([
    { type: 'decide', approvalId: 'apr_1', verb: 'decide', body: { arguments_digest: 'd1', decision: 'approve' } },
  ]);
  rig.do({ type: 'decided', approval: decided });
  expect([rig.state.approvals[0], rig.effects.at(-1)]).toEqual([
    { approval: decided, answer: { kind: 'none' } },
    { type: 'focus', target: { kind: 'approval', id: 'apr_2' } },
  ]);
});

test('C-072: what came of a decision is said once, whichever brings it first: the answer to it or the stream', () => {
  const answer = { type: 'decided', approval: decided } as const;
  const told = { type: 'approval_decided', approval: decided } as const;
  const said = [waiting().do(verdict, answer).hear(told), waiting().do(verdict).hear(told).do(answer)].map(
    ({ effects }) => effects.flatMap((effect) => (effect.type === 'announce' ? effect.text : [])),
  );
  for (const each of said)
    expect(each).toEqual(['Working', 'bash waits for your decision', 'bash: Allowed once by owner']);
});

test('C-051: a conflict shows what was decided before; what is closed can be put away, what is open cannot', () => {
  const rig = waiting()
    .do(verdict)
    .do({ type: 'decide_failed', approvalId: 'apr_1', why: 'conflict', message: 'Decided before.', approval: decided });
  expect(rig.state.approvals).toEqual([{ approval: decided, answer: { kind: 'conflict' } }]);
  const dismissal = { type: 'approval_dismissed', approvalId: 'apr_1' } as const;
  const answers = ({ state }: Rig) => state.approvals.map(({ answer }) => answer.kind);
  const listed = { type: 'approvals_loaded', sessionId: 'hsess1', approvals: [decided] } as const;
  expect(answers(rig.do(dismissal, listed))).toEqual(['dismissed']);
  expect(answers(waiting().do(dismissal))).toEqual(['none']);
  const expired = busyRig().hear(created, { type: 'approval_required', approval: approval({ expires_at: 1 }) });
  expect(answers(expired.do(dismissal))).toEqual(['dismissed']);
});

test('B083, C-050: the list of the server is the truth on each attach, but a late one takes no decision back', () => {
  const rig = busyRig().hear(created).do({ type: 'attached', turn: 'm1' });
  expect(rig.effects.at(-1)).toEqual({ type: 'loadApprovals', sessionId: 'hsess1' });
  rig.do({
    type: 'approvals_loaded',
    sessionId: 'hsess1',
    approvals: [
      approval({}),
      approval({ id: 'apr_0' as Approval['id'], status: 'denied', response_id: 'resp_0' as Approval['response_id'] }),
    ],
  });
  expect(rig.state.approvals.map((card) => card.approval.id)).toEqual(['apr_1', 'apr_0']);
  rig
    .hear({ type: 'approval_decided', approval: decided })
    .do({ type: 'approvals_loaded', sessionId: 'hsess1', approvals: [approval({})] });
  expect(rig.state.approvals[0]?.approval.status).toBe('approved');
  expect(statusText(rig.hear(event.text('on')).state)).toBe('Working…');
});

test('C-050: always allowing says exactly which rule it makes', () => {
  expect(ruleOffers({ name: 'bash' }).map(({ text, remember }) => [text, remember.match])).toEqual([
    ['Always allow bash with exactly these arguments in this session', 'exact-args'],
    ['Always allow bash with any arguments in this session', 'tool'],
  ]);
});

test('C-072: a turn of 300 updates speaks a bounded number of times', () => {
  const rig = busyRig().hear(created);
  for (let at = 0; at < 100; at++)
    rig.hear(event.start('t', `${at}`), event.result('t', `${at}`), event.text('so')).wait(300);
  rig.hear(event.done('so'));
  const said = rig.effects.flatMap((effect) => (effect.type === 'announce' ? [effect.text] : []));
  expect(said).toEqual([
    'Working',
    '1 tool called',
    '35 tools called',
    '69 tools called',
    'Turn ended · model finished',
  ]);
});

test('C-020: what a call waits for a person is not told as its time', () => {
  const rig = busyRig()
    .hear(created, event.start('bash', 'c1', 0))
    .wait(2_000);
  rig.hear({ type: 'recovery_required', approval: approval({ status: 'uncertain' }) }).wait(60_000);
  rig.hear({ type: 'approval_decided', approval: decided }).wait(1_000).hear(event.result('bash', 'c1'));
  const card = rig.state.rows.at(-1);
  expect(card?.kind === 'tool_run' && card.changedMs - card.startedMs).toBe(3_000);
});
