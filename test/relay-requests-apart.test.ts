// Agents ask their model for more than replies: titles, sub-agents, tools that have found the lease. What the relay tells of
// those is not taken for the reply's own (H-203).

import { expect, test } from 'vitest';
import { beginTurn, reduce as reduceClaude } from '../src/harnesses/claude-code/reduce.ts';
import { reduce as reducePi } from '../src/harnesses/pi/reduce.ts';
import { reduceRelay as reduceAcp } from '../src/harnesses/acp/reduce-reply.ts';
import { turnBegun as acpBegun } from '../src/harnesses/acp/acp-state.ts';
import { turnBegun as piBegun } from '../src/harnesses/pi/pi-state.ts';
import type { NativeFact } from '../src/harnesses/foreign/native-fact.ts';
import type { RelayFact, RelayNews } from '../src/harnesses/relay/relay-fact.ts';

const usage = (inputTokens: number) => ({
  inputTokens,
  outputTokens: 1,
  cacheReadInputTokens: null,
  cacheCreationInputTokens: null,
  thinkingTokens: null,
});
const asked = (tools: number): RelayNews => ({ at: 'asked', model: 'm', tools, atMs: 0 });
const answered = (status: number): RelayNews => ({ at: 'answered', status, retryAfterMs: null });
const ended = (how: 'whole' | 'refused', finishReason: string | null = null): RelayNews => ({
  at: 'ended',
  how,
  finishReason,
  error: how === 'whole' ? null : { type: 'overloaded_error', message: 'Busy' },
});
const of = (request: number, ...news: readonly RelayNews[]): readonly RelayFact[] =>
  news.map((each) => ({ ...each, request }));

const reply = of(2, answered(200), { at: 'served', model: 'big' }, { at: 'usage', usage: usage(100) });
const title = of(
  1,
  answered(500),
  { at: 'served', model: 'small' },
  { at: 'usage', usage: usage(3) },
  ended('refused'),
);

test('ACP: a title that was asked for before the reply, and fails after it, is no reply', () => {
  const facts: NativeFact[] = [];
  let state = acpBegun;
  for (const fact of [...of(1, asked(0)), ...of(2, asked(5)), ...reply, ...of(2, ended('whole', 'stop')), ...title]) {
    const [next, said] = reduceAcp(state, fact);
    state = next;
    facts.push(...said);
  }
  expect(state.seen).toMatchObject({ request: 2, model: 'big', status: 200, how: 'whole', error: null });
  expect(state.usage).toMatchObject({ inputTokens: 100 });
  expect(facts.filter(({ is }) => is === 'reply-lost' || is === 'reply-begun')).toEqual([]);
});

test('Pi: what a tool asks for is forgotten when Pi asks, and what comes of it later is not heard', () => {
  let state = piBegun;
  for (const fact of [...of(1, asked(0)), ...of(2, asked(5)), ...reply, ...title])
    [state] = reducePi(state, { from: 'relay', fact });
  expect(state.seen).toMatchObject({ request: 2, model: 'big', status: 200, usage: { inputTokens: 100 } });
});

test('Claude Code: an earlier call that is answered does not mend a later one that failed, and a status is of one call', () => {
  const failed = of(2, answered(529), ended('refused'));
  let state = beginTurn();
  for (const fact of [...failed, ...of(1, answered(200))]) [state] = reduceClaude(state, { from: 'relay', fact });
  expect(state.faults.provider).toMatchObject({ request: 2, status: 529, type: 'overloaded_error' });
  for (const fact of of(3, ended('refused'))) [state] = reduceClaude(state, { from: 'relay', fact });
  expect(state.faults.provider).toMatchObject({ request: 3, status: null });
  for (const fact of of(4, answered(200))) [state] = reduceClaude(state, { from: 'relay', fact });
  expect(state.faults.provider).toBeNull();
});
