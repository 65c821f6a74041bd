// H-900: what the real program and the relay said of a turn, as recorded, and what becomes of it when it is damaged.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createCodexState, type CodexState } from './replies.ts';
import { join } from 'node:path';
import { readdirSync, readFileSync } from 'node:fs';
import { reduceCodex, type CodexNative } from './reduce.ts';
import type { NativeFact } from '../foreign/native-fact.ts';

const folder = join(import.meta.dirname, 'recorded');
const recordings = readdirSync(folder).map((file) => /^codex-0\.171\.0-(.*)\.jsonl$/.exec(file)?.[1] ?? file);

function read(name: string): readonly CodexNative[] {
  const text = readFileSync(join(folder, `codex-0.171.0-${name}.jsonl`), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line): CodexNative => JSON.parse(line));
}

function factsOf(natives: readonly CodexNative[], from = createCodexState('thread-1', '/workspace')) {
  let state: CodexState = from;
  return natives.flatMap((native): readonly NativeFact[] => {
    const [next, facts] = reduceCodex(state, native);
    state = next;
    return facts;
  });
}

const recorded = (name: string) => factsOf(read(name)).filter(({ is }) => is !== 'progress');
const only = (facts: readonly NativeFact[], ...kinds: readonly NativeFact['is'][]) =>
  facts.filter(({ is }) => kinds.includes(is));
const codex = (method: string, params: object): CodexNative => ({
  from: 'codex',
  method,
  params: JSON.parse(JSON.stringify({ threadId: 'thread-1', turnId: 'turn-1', ...params })),
});
const started = codex('turn/started', { turn: { id: 'turn-1' }, turnId: undefined });
const text = (key: string, ...pieces: readonly string[]) => [
  ...pieces.map((each) => ({ is: 'text', key, text: each })),
  { is: 'text-whole', key, text: pieces.join('') },
];
const usage = {
  inputTokens: 11,
  outputTokens: 7,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: null,
  thinkingTokens: 0,
};
const begun = [{ is: 'reply-begun' }, { is: 'served', model: 'test-model' }];
const accepted = { is: 'reply-accepted', finishReason: 'end-turn', raw: 'completed', usage };
const completed = { is: 'ended', end: { as: 'completed' } };

test('H-910: a tool turn is told in order: text, call, reply, gate, result, answer, end', () => {
  const facts = recorded('tool');
  const [gate] = only(facts, 'gate');
  const call = gate?.is === 'gate' ? gate.call : { id: '', input: null };
  expect(call).toMatchObject({ name: 'exec_command', input: { cwd: '/workspace' } });
  const keys = facts.flatMap((fact) => (fact.is === 'text-whole' ? [fact.key] : []));
  expect(facts).toEqual([
    ...begun,
    ...text(keys[0] ?? '', 'Writing ', 'it ', 'now.'),
    { is: 'call-whole', call },
    accepted,
    { is: 'gate', request: '0', call, useKind: 'execute' },
    { is: 'gate-closed', request: '0' },
    { is: 'call-ended', id: call.id, outcome: 'ok', content: 'wrote made.txt\n' },
    ...begun,
    ...text(keys[1] ?? '', 'The ', 'file ', 'is ', 'written.'),
    accepted,
    completed,
  ]);
});

test('R1: a reply with two calls is accepted with the second, wherever the relay saw its end', () => {
  const natives = read('parallel');
  const isEnd = (native: CodexNative) =>
    native.from === 'relay' && native.fact.at === 'ended' && native.fact.request === 1;
  const end = natives.filter(isEnd);
  const rest = natives.filter((native) => !isEnd(native));
  const asked = rest.findIndex(({ from }) => from === 'relay') + 1;
  const before = rest.findIndex((native) => native.from === 'codex' && native.method.endsWith('tokenUsage/updated'));
  for (let at = asked; at <= before; at++) {
    const facts = factsOf([...rest.slice(0, at), ...end, ...rest.slice(at)]);
    const replies = only(facts, 'reply-begun', 'call-whole', 'reply-accepted').map(({ is }) => is);
    expect(replies).toEqual([
      'reply-begun',
      'call-whole',
      'call-whole',
      'reply-accepted',
      'reply-begun',
      'reply-accepted',
    ]);
    expect(only(facts, 'gate')).toHaveLength(2);
  }
});

test('R2: without the relay, the usage accepts replies and counts them', () => {
  const facts = factsOf(read('tool').filter(({ from }) => from !== 'relay'));
  const told = { ...usage, cacheCreationInputTokens: 0 };
  expect(only(facts, 'reply-accepted', 'served', 'usage')).toEqual([
    { ...accepted, raw: null, usage: told },
    { ...accepted, raw: null, usage: told },
  ]);
  expect(facts.findIndex(({ is }) => is === 'gate')).toBeLessThan(facts.findIndex(({ is }) => is === 'reply-accepted'));
});

test('H-043: a refused call has ended as denied', () => {
  expect(only(recorded('refused'), 'call-ended')).toMatchObject([{ outcome: 'denied', content: '' }]);
});

test('H-046: a question has options, and whether another answer will do', () => {
  const questions = [{ id: 'colour', question: 'Red or blue?', options: ['Red', 'Blue'], allowFreeForm: true }];
  expect(only(recorded('question'), 'question')).toMatchObject([{ request: '0', questions }]);
});

test('H-024: a reply that broke off is lost, and the next one begins', () => {
  const kinds = only(recorded('cut'), 'reply-begun', 'reply-lost', 'reply-accepted', 'ended');
  expect(kinds).toMatchObject([
    { is: 'reply-begun' },
    { is: 'reply-lost', reason: 'incomplete', error: { type: 'IncompleteStreamError' } },
    { is: 'reply-begun' },
    { is: 'reply-accepted' },
    completed,
  ]);
});

test('H-403: a reply that was cut by a message is lost to it', () => {
  const kinds = only(recorded('steered'), 'reply-begun', 'reply-lost', 'reply-accepted');
  expect(kinds.map((fact) => (fact.is === 'reply-lost' ? fact.reason : fact.is))).toEqual([
    'reply-begun',
    'steered',
    'reply-begun',
    'reply-accepted',
  ]);
});

test('H-404: a reply that was cut by its length is no failure', () => {
  expect(only(recorded('length'), 'reply-accepted', 'ended')).toEqual([
    { ...accepted, finishReason: 'max-tokens', raw: 'max_output_tokens' },
    { is: 'ended', end: { as: 'completed', stopReason: 'max-tokens' } },
  ]);
});

test('H-027: a patch is an edit, and tells its files', () => {
  const facts = recorded('patch');
  expect(only(facts, 'gate')).toMatchObject([{ useKind: 'edit', call: { name: 'apply_patch' } }]);
  expect(only(facts, 'file')).toEqual([{ is: 'file', kind: 'create', path: 'made.txt' }]);
});

test('a call of an MCP server is asked about as a call, not as a question of the server', () => {
  const facts = recorded('mcp');
  const call = { name: 'mcp__echo__echo', input: { text: 'hi' } };
  expect(only(facts, 'call-whole', 'gate')).toMatchObject([{ call }, { call }]);
  expect(only(facts, 'degraded')).toEqual([{ is: 'degraded', what: 'mcp:dead' }]);
});

test('H-067: an interrupt is told as one', () => {
  expect(recorded('interrupted').at(-1)).toEqual({ is: 'ended', end: { as: 'interrupted' } });
});

test('C1: a call is asked about once', () => {
  const natives = read('tool');
  const again = natives.flatMap((native): readonly CodexNative[] =>
    native.from === 'request' ? [native, { ...native, id: '7' }] : [native],
  );
  expect(only(factsOf(again), 'gate')).toHaveLength(1);
});

test('H-031: the total is told again after a resume and after failures; neither is a reply', () => {
  const total = (count: number) => ({ tokenUsage: { total: { totalTokens: count }, last: { inputTokens: count } } });
  const says = codex('item/agentMessage/delta', { itemId: 'm', delta: 'Hi' });
  const told = codex('thread/tokenUsage/updated', { ...total(18), turnId: 'turn-0' });
  const facts = factsOf([told, started, says, codex('thread/tokenUsage/updated', total(18))]);
  expect(only(facts, 'reply-accepted', 'usage')).toEqual([]);
});

test('H-136: errors are told in our own words, by their kind', () => {
  const endOf = (error: object) => {
    const turn = { id: 'turn-1', status: 'failed', error };
    return factsOf([started, codex('turn/completed', { turn, turnId: undefined })]).at(-1);
  };
  for (const [error, type] of [
    [{ message: 'SECRET', codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 401 } } }, 'AuthenticationError'],
    [
      { message: 'SECRET', codexErrorInfo: { responseTooManyFailedAttempts: { httpStatusCode: 429 } } },
      'ProviderError',
    ],
    [{ message: 'SECRET', codexErrorInfo: 'usageLimitExceeded' }, 'QuotaExhaustedError'],
    [{ message: 'SECRET', codexErrorInfo: 'contextWindowExceeded' }, 'ContextOverflowError'],
    [{ message: 'stream disconnected before completion: idle timeout', codexErrorInfo: 'other' }, 'CallTimeoutError'],
    [{ message: 'stream disconnected before completion: SECRET', codexErrorInfo: 'other' }, 'IncompleteStreamError'],
    [{ message: '{"error":{"message":"SECRET"}}', codexErrorInfo: 'other' }, 'ProviderError'],
  ] as const) {
    const end = endOf(error);
    expect(end).toMatchObject({ end: { as: 'failed', error: { type } } });
    expect(JSON.stringify(end)).not.toContain('SECRET');
  }
});

test('H-032: a plan is the task list, and a shorter conversation is told with its sizes', () => {
  const counted = (totalTokens: number) => ({ tokenUsage: { total: { totalTokens: 0 }, last: { totalTokens } } });
  const item = { item: { type: 'contextCompaction', id: 'c' } };
  const facts = factsOf([
    started,
    codex('turn/plan/updated', { plan: [{ step: 'Look', status: 'inProgress' }] }),
    codex('thread/tokenUsage/updated', counted(9_000)),
    codex('item/started', item),
    codex('thread/tokenUsage/updated', counted(600)),
    codex('item/completed', item),
  ]);
  expect(only(facts, 'todos', 'compacted')).toEqual([
    { is: 'todos', todos: [{ content: 'Look', status: 'in_progress' }] },
    { is: 'compacted', tokensBefore: 9_000, tokensAfter: 600 },
  ]);
});

describe.each(recordings)('%s, damaged', (name) => {
  const natives = read(name);
  const ends = (some: readonly CodexNative[]) => only(factsOf(some), 'ended').length;

  test('H-100: cut at any line it ends not at all, doubled it ends once', () => {
    expect(ends(natives)).toBe(1);
    for (let at = 0; at < natives.length; at++) expect(ends(natives.slice(0, at))).toBe(0);
    const doubled = natives.flatMap((native) => [native, native]);
    expect(ends(doubled)).toBe(1);
    expect(only(factsOf(doubled), 'gate', 'reply-accepted', 'call-whole')).toEqual(
      only(factsOf(natives), 'gate', 'reply-accepted', 'call-whole'),
    );
  });

  test('H-029: an event of another kind changes nothing but that it is told', () => {
    const strange = codex('item/somethingNew', { item: 17 });
    const facts = factsOf(natives.flatMap((native) => [native, strange]));
    const known = facts.filter(({ is }) => is !== 'unknown');
    expect(known).toEqual(factsOf(natives));
    expect(facts).toContainEqual({ is: 'unknown', kind: 'item/somethingNew' });
  });

  test('whatever is missing or of another type, nothing throws', () => {
    // One that begins again may end again.
    const within = natives.filter((native) => native.from !== 'codex' || native.method !== 'turn/started');
    const damaged = fc.constantFrom(...within).chain((native): fc.Arbitrary<CodexNative> => {
      if (native.from === 'relay') return fc.constant(native);
      const keys = Object.keys(native.params);
      return fc
        .tuple(
          fc.constantFrom(...keys),
          fc.oneof(fc.constant(null), fc.integer(), fc.string(), fc.constant([[]]), fc.constant({})),
        )
        .map(([key, value]) => ({ ...native, params: { ...native.params, [key]: value } }));
    });
    fc.assert(
      fc.property(fc.array(damaged, { maxLength: 30 }), (some) => {
        expect(ends([...natives.slice(0, 8), ...some])).toBeLessThan(2);
      }),
      { numRuns: 60 },
    );
  });
});

test('E-520: a patch names its files, in its gate and first of all in its arguments', () => {
  const [one] = only(recorded('patch'), 'gate');
  expect(one).toMatchObject({ paths: ['/workspace/made.txt'], call: { input: { path: '/workspace/made.txt' } } });
  const changes = [
    { path: '/workspace/a', kind: { type: 'update', move_path: '/workspace/b' } },
    { path: '/workspace/c', kind: { type: 'delete' } },
  ];
  const [several] = only(
    factsOf([
      started,
      codex('item/started', { item: { type: 'fileChange', id: 'p', changes } }),
      { from: 'request', id: '1', method: 'item/fileChange/requestApproval', params: { itemId: 'p' } },
    ]),
    'gate',
  );
  const paths = ['/workspace/a', '/workspace/b', '/workspace/c'];
  expect(several).toMatchObject({ paths, call: { input: { paths: paths.join(', '), changes } } });
});

test('U-052: a provider that the relay did not reach is named so, though Codex repeats the status alone', () => {
  const message = 'The model provider could not be reached (ECONNREFUSED).';
  const relay = (request: number): readonly CodexNative[] => [
    { from: 'relay', fact: { at: 'asked', request, model: 'test-model', atMs: 0 } },
    { from: 'relay', fact: { at: 'ended', request, how: 'cut', finishReason: null, error: { type: null, message } } },
  ];
  const error = {
    message: 'exceeded retry limit, last status: 502 Bad Gateway',
    codexErrorInfo: { responseTooManyFailedAttempts: { httpStatusCode: 502 } },
  };
  const facts = factsOf([
    started,
    ...relay(1),
    codex('error', { willRetry: true, error }),
    ...relay(2),
    codex('turn/completed', { turn: { id: 'turn-1', status: 'failed', error }, turnId: undefined }),
  ]);
  const unreached = { type: 'ProviderError', message, retryable: true };
  expect(only(facts, 'reply-lost', 'ended')).toEqual([
    expect.objectContaining({ is: 'reply-lost', error: unreached }),
    { is: 'ended', end: { as: 'failed', error: unreached } },
  ]);
});
