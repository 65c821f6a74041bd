import { describe, expect, test } from 'vitest';
import { beginTurn, reduce, type TurnState } from './reduce.ts';
import { gateFact } from './gate-fact.ts';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { JsonObject } from '../../core/json.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { NativeMessage } from './native-message.ts';
import type { Usage } from '../../core/usage.ts';

const folder = join(import.meta.dirname, 'recorded');
const names = globSync('*.jsonl', { cwd: folder }).map((file) =>
  basename(file, '.jsonl').replace(/^[a-z-]+-[\d.]+-/, ''),
);

const recorded = (name: string): readonly NativeMessage[] =>
  readFileSync(join(folder, `claude-code-2.1.332-${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** All facts of a recording; a message of ours after an end begins another turn. */
function play(messages: readonly NativeMessage[]): readonly NativeFact[] {
  const facts: NativeFact[] = [];
  let state: TurnState = beginTurn();
  for (const message of messages) {
    if (state.ended && message.from === 'us') state = beginTurn(state.tasks);
    const [next, more] = reduce(state, message);
    state = next;
    facts.push(...more.filter(({ is }) => is !== 'progress'));
  }
  return facts;
}

const textIn = (facts: readonly NativeFact[]) => facts.map((fact) => (fact.is === 'text' ? fact.text : '')).join('');
const endsIn = (facts: readonly NativeFact[]) => facts.flatMap((fact) => (fact.is === 'ended' ? [fact.end] : []));
const usageOf = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cacheReadInputTokens: null,
  cacheCreationInputTokens: null,
  thinkingTokens: null,
});

describe('H-900: what a recording means', () => {
  test('a call: its reply accepted, judged, ended, and a second reply', () => {
    const facts = play(recorded('tool'));
    const input = { command: "printf %s 'made by a tool' > made.txt && echo wrote made.txt", description: 'Run it' };
    const call = { id: expect.any(String), name: 'Bash', input };
    const gate = facts.find(({ is }) => is === 'gate');
    expect(facts.filter(({ is }) => is !== 'text' && is !== 'call-input')).toEqual([
      { is: 'reply-begun' },
      { is: 'served', model: 'test-model' },
      { is: 'text-whole', key: '0', text: 'Writing it now.' },
      { is: 'call-begun', id: expect.any(String), name: 'Bash' },
      { is: 'call-whole', call },
      { is: 'reply-accepted', finishReason: 'tool-use', raw: 'tool_use', usage: usageOf(11, 7) },
      gate,
      { is: 'call-ended', id: expect.any(String), outcome: 'ok', content: 'wrote made.txt' },
      { is: 'reply-begun' },
      { is: 'served', model: 'test-model' },
      { is: 'text-whole', key: '0', text: 'The file is written.' },
      { is: 'reply-accepted', finishReason: 'end-turn', raw: 'end_turn', usage: usageOf(11, 7) },
      { is: 'ended', end: { as: 'completed' } },
    ]);
    expect(gate).toEqual({ is: 'gate', request: expect.any(String), call, useKind: 'execute' });
    expect(textIn(facts)).toBe('Writing it now.The file is written.');
  });

  test('thinking and text are blocks of their own', () => {
    const facts = play(recorded('think'));
    expect(facts).toContainEqual({ is: 'thinking-whole', key: '0', text: 'Let me think about it.' });
    expect(facts).toContainEqual({ is: 'text-whole', key: '1', text: 'I thought.' });
  });

  test('H-024: a cut reply is given up before it is told anew', () => {
    const facts = play(recorded('cutonce')).map(({ is }) => is);
    expect(facts.filter((is) => is.startsWith('reply-'))).toEqual([
      'reply-begun',
      'reply-lost',
      'reply-begun',
      'reply-accepted',
    ]);
  });

  test('H-101, H-025: a refusal that calls itself success is a failure, and its words are not shown', () => {
    const facts = play(recorded('e400'));
    expect(textIn(facts)).toBe('');
    expect(endsIn(facts)).toMatchObject([
      { as: 'failed', error: { type: 'ProviderError', status: 400, retryable: false } },
    ]);
    expect(JSON.stringify(facts)).not.toContain('API Error');
    expect(endsIn(play(recorded('e401')))).toMatchObject([{ as: 'failed', error: { type: 'AuthenticationError' } }]);
  });

  test('H-204: the relay knows the refusal better than the runtime that was told another status', () => {
    const said = { type: 'rate_limit_error', message: 'You have exceeded your current quota.' };
    const [first, ...rest] = recorded('e400');
    const relay: readonly NativeMessage[] = [
      { from: 'relay', fact: { request: 1, at: 'answered', status: 429, retryAfterMs: null } },
      { from: 'relay', fact: { request: 1, at: 'ended', how: 'refused', finishReason: null, error: said } },
    ];
    expect(endsIn(play([...(first === undefined ? [] : [first]), ...relay, ...rest]))).toMatchObject([
      { as: 'failed', error: { type: 'QuotaExhaustedError', status: 429 } },
    ]);
  });

  test('H-025: what it writes in the place of the user is its own; at the last cut the turn has failed', () => {
    const facts = play(recorded('length'));
    expect(facts.filter(({ is }) => is === 'engine-said')).toHaveLength(3);
    expect(facts.filter(({ is }) => is === 'reply-accepted')).toMatchObject(
      Array.from({ length: 4 }, () => ({ finishReason: 'max-tokens' })),
    );
    expect(endsIn(facts)).toMatchObject([{ as: 'failed', error: { type: 'RecoveryExhaustedError' } }]);
  });

  test.each([
    ['deny', 'denied', 'completed'],
    ['unknowntool', 'invalid', 'completed'],
    ['interrupt', 'cancelled', 'interrupted'],
    ['interrupt-gate', 'cancelled', 'interrupted'],
    ['ask', 'ok', 'completed'],
  ])('H-026: the call in %s is %s, and the turn has %s', (name, outcome, as) => {
    const facts = play(recorded(name));
    expect(facts.filter(({ is }) => is === 'call-ended')).toMatchObject([{ outcome }]);
    expect(endsIn(facts)).toMatchObject([{ as }]);
  });

  test('an interrupted gate is closed', () => {
    const facts = play(recorded('interrupt-gate'));
    const gate = facts.find((fact) => fact.is === 'gate');
    expect(facts).toContainEqual({ is: 'gate-closed', request: gate?.request });
  });

  test('H-051: a message that came in the last text is answered in the same turn', () => {
    const facts = play(recorded('steer-text'));
    expect(endsIn(facts)).toEqual([{ as: 'completed' }]);
    expect(textIn(facts)).toMatch(/word39 Hello from the model\.$/);
  });

  test('R1: while a message of ours is on its way the turn does not end', () => {
    const messages = recorded('steer-text');
    const late: NativeMessage = { from: 'us', sent: 'on-its-way' };
    const heard: NativeMessage = {
      from: 'program',
      message: { type: 'command_lifecycle', command_uuid: 'on-its-way', state: 'queued' },
    };
    const idle = messages.at(-1);
    const held = [...messages.slice(0, -1), late, ...messages.slice(-1)];
    expect(endsIn(play(held))).toEqual([]);
    expect(endsIn(play([...held, heard, ...(idle === undefined ? [] : [idle])]))).toEqual([{ as: 'completed' }]);
  });

  test('R2: calls of a sub-agent are judged, and are no calls of the run; what it used counts', () => {
    const messages = recorded('sub-agent');
    const facts = play(messages);
    expect(facts.filter(({ is }) => is === 'gate')).toMatchObject([
      { call: { name: 'Agent' } },
      { call: { name: 'Bash' }, bySubAgent: true },
    ]);
    expect(facts.filter(({ is }) => is === 'call-ended')).toHaveLength(1);
    expect(facts.filter(({ is }) => is === 'reply-begun')).toHaveLength(2);
    const used = (request: number): NativeMessage => ({
      from: 'relay',
      fact: { request, at: 'usage', usage: usageOf(11, 7) },
    });
    // The run's own first reply, then two of the sub-agent.
    const at = messages.findLastIndex((each) => JSON.stringify(each).includes('"requesting"'));
    const told = play([...messages.slice(0, at), used(1), used(2), used(3), ...messages.slice(at), used(4)]);
    expect(told.filter(({ is }) => is === 'reply-accepted')).toMatchObject([
      { usage: usageOf(11, 7) },
      { usage: usageOf(33, 21) },
    ]);
  });

  test('H-032: the task list is whole after each change, over turns', () => {
    const lists = play(recorded('tasks')).flatMap((fact) => (fact.is === 'todos' ? [fact.todos] : []));
    expect(lists).toEqual([[{ content: 'a task', status: 'pending' }], [{ content: 'a task', status: 'in_progress' }]]);
  });

  test('H-032: a compaction is told with its sizes', () => {
    const message = {
      type: 'system',
      subtype: 'compact_boundary',
      compact_metadata: { trigger: 'auto', pre_tokens: 900, post_tokens: 90 },
    };
    expect(play([{ from: 'program', message }])).toEqual([{ is: 'compacted', tokensBefore: 900, tokensAfter: 90 }]);
  });
});

describe.each(names)('H-900: the recording %s', (name) => {
  const messages = recorded(name);
  const turns = name === 'tasks' ? 2 : 1;

  test('ends each turn once, says nothing unknown, and never more when it is cut, doubled or strange', () => {
    expect(endsIn(play(messages))).toHaveLength(turns);
    expect(play(messages).filter(({ is }) => is === 'unknown')).toEqual([]);
    for (const [at, message] of messages.entries()) {
      expect(endsIn(play(messages.slice(0, at))).length).toBeLessThanOrEqual(turns);
      const doubled = play([...messages.slice(0, at + 1), message, ...messages.slice(at + 1)]);
      expect(endsIn(doubled).length).toBeLessThanOrEqual(turns);
      for (const strange of [
        { type: 'of_tomorrow' },
        { type: 'system' },
        { type: 'assistant' },
        { type: 'user' },
        {},
      ]) {
        const odd = play([...messages.slice(0, at), { from: 'program', message: strange }, ...messages.slice(at)]);
        expect(endsIn(odd)).toEqual(endsIn(play(messages)));
      }
    }
  });
});

test.each([
  ['Edit', { file_path: '/w/a.ts', old_string: 'a' }, ['/w/a.ts']],
  ['NotebookEdit', { notebook_path: '/w/a.ipynb' }, ['/w/a.ipynb']],
  ['Grep', { pattern: 'x', path: 'src' }, ['src']],
  ['Bash', { command: 'ls' }, undefined],
])('E-520: a gate names the files of its call: %s', (tool_name, input, paths) => {
  const asked = { subtype: 'can_use_tool', tool_name, tool_use_id: 'c', input };
  expect(gateFact('r', asked)).toMatchObject({ is: 'gate', ...(paths === undefined ? {} : { paths }) });
  expect('paths' in gateFact('r', asked)).toBe(paths !== undefined);
});

test('U-052: a provider that the relay did not reach is named so, though the program tells a status alone', () => {
  const message = 'The model provider could not be reached (ECONNREFUSED).';
  const ended = { at: 'ended', request: 1, how: 'cut', finishReason: null, error: { type: null, message } } as const;
  const retry = { type: 'system', subtype: 'api_retry', error_status: 502, error: 'server_error', retry_delay_ms: 9 };
  const facts = play([
    { from: 'relay', fact: ended },
    { from: 'program', message: retry },
  ]);
  expect(facts.find(({ is }) => is === 'reply-lost')).toMatchObject({ error: { message, retryable: true } });
});

test('H-110: pings, heartbeats and states are signs of life, and no progress', () => {
  const messages: readonly JsonObject[] = [
    { type: 'keep_alive' },
    { type: 'tool_progress', elapsed_time_seconds: 30 },
    { type: 'stream_event', event: { type: 'ping' } },
    { type: 'system', subtype: 'status', status: 'compacting' },
  ];
  for (const message of messages)
    expect(reduce(beginTurn(), { from: 'program', message })[1]).toEqual([{ is: 'alive' }]);
});
