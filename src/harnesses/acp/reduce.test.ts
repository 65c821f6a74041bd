// H-900: streams of the real programs, as recorded, what the relay adds to them, and what becomes of them when damaged.

import { describe, expect, test } from 'vitest';
import { geminiDialect, policyFor } from './gemini-cli.ts';
import { join } from 'node:path';
import { opencodeDialect } from './opencode.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { reduce } from './reduce.ts';
import { turnBegun, type AcpNative } from './acp-state.ts';
import type { AcpDialect } from './acp-profile.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { RelayNews } from '../relay/relay-fact.ts';

const folder = join(import.meta.dirname, 'recorded');
const recordings = readdirSync(folder);
const dialectOf = (file: string) => (file.startsWith('gemini') ? geminiDialect : opencodeDialect);
const read = (file: string): readonly AcpNative[] =>
  readFileSync(join(folder, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

function factsOf(natives: readonly AcpNative[], dialect: AcpDialect): readonly NativeFact[] {
  let state = turnBegun;
  return natives.flatMap((native) => {
    const [next, facts] = reduce(state, native, dialect);
    state = next;
    return facts;
  });
}
const gemini = (name: string) => factsOf(read(`gemini-cli-0.61.0-${name}.jsonl`), geminiDialect);
const opencode = (name: string) => factsOf(read(`opencode-1.18.33-${name}.jsonl`), opencodeDialect);
const only = (facts: readonly NativeFact[], ...kinds: readonly NativeFact['is'][]) =>
  facts.filter(({ is }) => kinds.includes(is));
const kindsOf = (facts: readonly NativeFact[]) =>
  facts.map(({ is }) => is).filter((is, index, all) => is !== 'progress' && is !== 'alive' && is !== all[index - 1]);
const completed = { is: 'ended', end: { as: 'completed' } };

describe('recorded streams', () => {
  test('H-910: a tool turn of the Gemini CLI, whose calls are told by the question alone', () => {
    expect(kindsOf(gemini('turn'))).toEqual([
      'reply-begun',
      'text',
      'call-begun',
      'call-whole',
      'reply-accepted',
      'gate',
      'call-ended',
      'reply-begun',
      'text',
      'reply-accepted',
      'ended',
    ]);
    expect(only(gemini('turn'), 'gate')).toMatchObject([
      {
        useKind: 'execute',
        call: {
          name: 'run_shell_command',
          input: { command: 'echo made-by-tool > made.txt && echo wrote made.txt' },
        },
      },
    ]);
    expect(gemini('turn').at(-1)).toEqual(completed);
  });

  test('H-910, H-041: a tool turn of OpenCode, whose calls are said to run before anybody was asked', () => {
    const facts = opencode('turn');
    expect(kindsOf(facts)).toEqual([
      'reply-begun',
      'text',
      'call-begun',
      'call-whole',
      'gate',
      'call-output',
      'call-ended',
      'reply-accepted',
      'reply-begun',
      'text',
      'reply-accepted',
      'ended',
    ]);
    const input = { command: 'echo made-by-tool > made.txt && echo wrote made.txt', description: 'run it' };
    expect(only(facts, 'gate')).toMatchObject([{ useKind: 'execute', call: { name: 'bash', input } }]);
    expect(only(facts, 'call-output', 'call-ended')).toMatchObject([
      { text: 'wrote made.txt\n' },
      { outcome: 'ok', content: 'wrote made.txt\n' },
    ]);
  });

  test('H-602: the arguments of a call are known when somebody is asked, also where the question shows none', () => {
    expect(only(opencode('mcp'), 'gate')).toMatchObject([{ call: { name: 'echo_echo', input: { text: 'hi' } } }]);
    expect(only(gemini('mcp'), 'gate')).toMatchObject([{ call: { name: 'mcp_echo_echo', input: { text: 'hi' } } }]);
    const input = { filePath: '/workspace/made.txt', content: 'made-by-write\n' };
    expect(only(opencode('write'), 'gate')).toMatchObject([{ useKind: 'edit', call: { name: 'write', input } }]);
    expect(only(gemini('readfile-policy'), 'gate')).toMatchObject([
      { useKind: 'readonly', call: { name: 'read_file', input: { path: expect.stringContaining('a.txt') } } },
    ]);
  });

  test('H-910: each of two calls has a gate and an end', () => {
    for (const facts of [gemini('parallel'), opencode('parallel')]) {
      expect(only(facts, 'gate')).toHaveLength(2);
      expect(only(facts, 'call-ended')).toHaveLength(2);
    }
  });

  test('H-043: after a refusal the turn goes on, or has ended with it', () => {
    expect(gemini('deny').at(-1)).toEqual(completed);
    expect(opencode('deny').at(-1)).toEqual({ is: 'ended', end: { as: 'completed', stopReason: 'other' } });
  });

  test('H-067: what ends after an interrupt was interrupted', () => {
    for (const facts of [gemini('cancel'), opencode('cancel')])
      expect(facts.at(-1)).toEqual({ is: 'ended', end: { as: 'interrupted' } });
  });

  test('H-051: a message that drops the reply gives it up; the turn ends with the last answer', () => {
    expect(kindsOf(gemini('steer-text'))).toEqual([
      'reply-begun',
      'text',
      'reply-lost',
      'reply-begun',
      'text',
      'reply-accepted',
      'ended',
    ]);
    expect(only(opencode('steer'), 'ended')).toEqual([completed]);
  });

  test('H-136: a failure is told in a sentence of ours', () => {
    const error = { type: 'ProviderError', status: 400, message: expect.not.stringContaining('by script') };
    expect(gemini('e400')).toMatchObject([{ end: { as: 'failed', error } }]);
    expect(only(opencode('e400'), 'ended')).toMatchObject([{ end: { as: 'failed', error: { type: 'HarnessError' } } }]);
  });

  test('thoughts are without their empty heading, and keep their place before the text', () => {
    expect(only(gemini('think'), 'thinking')).toEqual([{ is: 'thinking', key: '1', text: 'Let me think about it.' }]);
    for (const facts of [gemini('think'), opencode('think')])
      expect(kindsOf(facts).slice(0, 3)).toEqual(['reply-begun', 'thinking', 'text']);
  });

  test('an unknown tool is an error, whatever the program calls it', () => {
    expect(only(opencode('unknown-tool'), 'call-ended')).toMatchObject([{ outcome: 'error' }]);
  });
});

describe('what the relay adds', () => {
  const relay = (request: number, news: RelayNews): AcpNative => ({ from: 'relay', fact: { ...news, request } });
  const asked = (request: number) => relay(request, { at: 'asked', model: 'm', atMs: 0 });
  const ended = (request: number, how: 'whole' | 'cut' | 'refused', more = {}) =>
    relay(request, { at: 'ended', how, finishReason: null, error: null, ...more });
  const text = (words: string): AcpNative => ({
    from: 'update',
    update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: words } },
  });
  const end: AcpNative = { from: 'answer', result: { stopReason: 'end_turn' } };
  const usage = {
    inputTokens: 11,
    outputTokens: 7,
    cacheReadInputTokens: null,
    cacheCreationInputTokens: null,
    thinkingTokens: null,
  };
  const told = (...natives: readonly AcpNative[]) => factsOf([{ from: 'prompted' }, ...natives], opencodeDialect);

  test('H-024: a reply that was cut is given up when the agent asks again, though it says nothing', () => {
    const facts = told(asked(1), text('half'), ended(1, 'cut'), asked(2), text('whole'), ended(2, 'whole'), end);
    expect(kindsOf(facts)).toEqual([
      'reply-begun',
      'text',
      'reply-lost',
      'reply-begun',
      'text',
      'reply-accepted',
      'ended',
    ]);
    expect(only(facts, 'reply-lost')).toMatchObject([{ error: { type: 'ProviderError', retryable: true } }]);
  });

  test('H-024: a request that was refused before a word came is an attempt as well', () => {
    const refused = relay(1, { at: 'answered', status: 429, retryAfterMs: null });
    const facts = told(asked(1), refused, ended(1, 'refused'), asked(2), text('whole'), ended(2, 'whole'), end);
    expect(kindsOf(facts).slice(0, 3)).toEqual(['reply-begun', 'reply-lost', 'reply-begun']);
    expect(only(facts, 'reply-lost')).toMatchObject([{ error: { status: 429 } }]);
  });

  test('H-022: a reply is accepted when as many calls are told as it has', () => {
    const call = (id: string): AcpNative => ({
      from: 'update',
      update: { sessionUpdate: 'tool_call', toolCallId: id, title: 'bash', status: 'in_progress', rawInput: { a: id } },
    });
    const facts = told(asked(1), call('a'), ended(1, 'whole', { calls: 2 }), call('b'));
    expect(kindsOf(facts).slice(-2)).toEqual(['call-whole', 'reply-accepted']);
    expect(kindsOf(told(asked(1), call('a'), call('b'), ended(1, 'whole', { calls: 2 }))).at(-1)).toBe(
      'reply-accepted',
    );
  });

  test('H-030, H-031: model and usage go to the reply that they are of, also when they come late', () => {
    const early = told(
      asked(1),
      relay(1, { at: 'served', model: 'other' }),
      text('a'),
      relay(1, { at: 'usage', usage }),
      ended(1, 'whole', { finishReason: 'length' }),
      end,
    );
    expect(early.slice(0, 2)).toEqual([{ is: 'reply-begun' }, { is: 'served', model: 'other' }]);
    expect(only(early, 'reply-accepted')).toMatchObject([{ usage, finishReason: 'max-tokens' }]);
  });

  test('H-101: nor where all that was asked offered no tools; beside a reply, what fails without tools is a title', () => {
    const title = (request: number) => [
      relay(request, { at: 'asked', model: 'test-model', tools: 0, atMs: 0 }),
      relay(request, { at: 'answered', status: 401, retryAfterMs: null }),
      ended(request, 'refused'),
    ];
    expect(only(told(...title(1), end), 'ended')).toMatchObject([{ end: { as: 'failed', error: { status: 401 } } }]);
    const beside = told(...title(1), asked(2), text('whole'), ended(2, 'whole'), ...title(3), end);
    expect(kindsOf(beside)).not.toContain('reply-lost');
    expect(only(beside, 'ended')).toMatchObject([{ end: { as: 'completed' } }]);
    expect(only(told(...title(1), text('from elsewhere'), end), 'ended')).toMatchObject([{ end: { as: 'completed' } }]);
  });

  test('H-101: an answer is no success where the model was not reached at last', () => {
    const facts = told(
      asked(1),
      relay(1, { at: 'answered', status: 401, retryAfterMs: null }),
      ended(1, 'refused'),
      end,
    );
    expect(facts).toMatchObject([{ end: { as: 'failed', error: { type: 'AuthenticationError', status: 401 } } }]);
  });
});

describe.each(recordings)('%s', (file) => {
  const natives = read(file);
  const dialect = dialectOf(file);

  test('H-100: however it is cut, doubled or mixed with what nobody knows, it ends at most once, and last', () => {
    const unknown: AcpNative = { from: 'update', update: { sessionUpdate: 'news_of_tomorrow', toolCallId: 7 } };
    const damaged = natives.flatMap((native, at) => [
      natives.slice(0, at),
      natives.toSpliced(at, 0, native),
      natives.toSpliced(at, 0, unknown),
    ]);
    for (const each of damaged) {
      const facts = factsOf(each, dialect);
      expect(only(facts, 'ended').length).toBeLessThanOrEqual(1);
      if (only(facts, 'ended').length === 1) expect(facts.at(-1)?.is).toBe('ended');
    }
    const shown = (facts: readonly NativeFact[]) => facts.filter(({ is }) => is !== 'unknown');
    expect(shown(factsOf([unknown, ...natives], dialect))).toEqual(factsOf(natives, dialect));
    expect(factsOf([...natives, ...natives], dialect)).toEqual(factsOf(natives, dialect));
  });

  test('a call is begun and whole before it is asked about, and asked about once', () => {
    const facts = factsOf(natives, dialect);
    for (const [at, fact] of facts.entries())
      if (fact.is === 'gate') expect(facts.slice(0, at)).toContainEqual({ is: 'call-whole', call: fact.call });
    expect(only(facts, 'gate').length).toBe(natives.filter(({ from }) => from === 'permission').length);
  });
});

test('H-080: what is disabled is denied before all else is asked, and a name cannot break out of its rule', () => {
  const policy = policyFor(['web_fetch', 'x"\n[[rule]]']);
  expect(policy.match(/toolName = .*/g)).toEqual([
    'toolName = "web_fetch"',
    'toolName = "run_shell_command"',
    'toolName = "*"',
  ]);
  expect(policy).toContain('decision = "deny"\npriority = 999');
});

test('E-520: a gate names the files that its call works on, wherever the agent tells them', () => {
  expect(only(opencode('write'), 'gate')).toMatchObject([{ paths: ['/workspace/made.txt'] }]);
  const call = {
    toolCallId: 'read__1',
    kind: 'read',
    locations: [{ path: '/w/a' }],
    content: [{ type: 'diff', path: '/w/b' }],
  };
  const asked = { from: 'permission', request: 'r', call, bySubAgent: false } as const;
  expect(only(factsOf([asked], geminiDialect), 'gate')).toMatchObject([{ paths: ['/w/a', '/w/b'] }]);
});

test('H-110: what tells of no work is a sign of life alone', () => {
  const update = { sessionUpdate: 'usage_update' };
  expect(factsOf([{ from: 'update', update }], opencodeDialect)).toEqual([{ is: 'alive' }]);
});
