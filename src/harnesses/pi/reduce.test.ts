// H-900: streams of the real program, as recorded, and what becomes of them when they are damaged.

import { describe, expect, test } from 'vitest';
import { gateTitle } from './gate.ts';
import { idle, turnBegun, type PiNative, type PiState } from './pi-state.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { join } from 'node:path';
import { readdirSync, readFileSync } from 'node:fs';
import { reduce } from './reduce.ts';
import type { NativeFact } from '../foreign/native-fact.ts';

const folder = join(import.meta.dirname, 'recorded');
const recordings = readdirSync(folder);

function read(name: string): readonly JsonObject[] {
  const lines = readFileSync(join(folder, `pi-1.6.0-${name}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => {
    const value: JsonValue = JSON.parse(line);
    if (!isJsonObject(value)) throw new Error('A recording holds objects.');
    return value;
  });
}

const native = (event: JsonObject): PiNative => ({ from: 'pi', event });

function factsOf(events: readonly PiNative[], from: PiState = turnBegun): readonly NativeFact[] {
  let state = from;
  return events.flatMap((event) => {
    const [next, facts] = reduce(state, event);
    state = next;
    return facts;
  });
}
const recorded = (name: string) => factsOf(read(name).map(native));
const telling = (facts: readonly NativeFact[]) => facts.filter(({ is }) => is !== 'progress');
const only = (facts: readonly NativeFact[], ...kinds: readonly NativeFact['is'][]) =>
  facts.filter(({ is }) => kinds.includes(is));
const ends = (facts: readonly NativeFact[]) => only(facts, 'ended');
const usage = {
  inputTokens: 11,
  outputTokens: 7,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  thinkingTokens: null,
};
const completed = { is: 'ended', end: { as: 'completed' } };

test('H-910: a tool turn is told in order: text, call, reply, gate, output, result, answer, end', () => {
  const [first, gate] = only(recorded('tool'), 'call-whole', 'gate');
  const call = first?.is === 'call-whole' ? first.call : null;
  expect(call).toMatchObject({ name: 'bash', input: { description: 'run it' } });
  expect(gate).toMatchObject({ is: 'gate', call, useKind: 'execute' });
  const request = gate?.is === 'gate' ? gate.request : '';
  const id = call?.id;
  expect(telling(recorded('tool')).filter(({ is }) => is !== 'call-input')).toEqual([
    { is: 'reply-begun' },
    ...['Writing ', 'it ', 'now.'].map((text) => ({ is: 'text', key: '0', text })),
    { is: 'text-whole', key: '0', text: 'Writing it now.' },
    { is: 'call-begun', id, name: 'bash' },
    { is: 'call-whole', call },
    { is: 'reply-accepted', finishReason: 'tool-use', raw: 'tool_use', usage },
    { is: 'gate', request, call, useKind: 'execute' },
    { is: 'call-output', id, text: 'wrote made.txt\n' },
    { is: 'gate-closed', request },
    { is: 'call-ended', id, outcome: 'ok', content: 'wrote made.txt\n' },
    { is: 'reply-begun' },
    ...['The ', 'file ', 'is ', 'written.'].map((text) => ({ is: 'text', key: '0', text })),
    { is: 'text-whole', key: '0', text: 'The file is written.' },
    { is: 'reply-accepted', finishReason: 'end-turn', raw: 'end_turn', usage },
    completed,
  ]);
  const pieces = only(recorded('tool'), 'call-input').map((fact) => (fact.is === 'call-input' ? fact.piece : ''));
  expect(JSON.parse(pieces.join(''))).toEqual(call?.input);
});

test('parallel calls are asked one by one, and each ends once', () => {
  const facts = recorded('parallel');
  const calls = facts.flatMap((fact) => (fact.is === 'call-whole' ? fact.call : []));
  expect(calls).toHaveLength(2);
  expect(facts.flatMap((fact) => (fact.is === 'gate' ? fact.call : []))).toEqual(calls);
  expect(facts.flatMap((fact) => (fact.is === 'call-ended' ? fact.id : []))).toEqual(calls.map(({ id }) => id));
});

test('thinking and text have keys of their own', () => {
  expect(only(recorded('think'), 'thinking-whole', 'text-whole')).toEqual([
    { is: 'thinking-whole', key: '0', text: 'Let me think about it.' },
    { is: 'text-whole', key: '1', text: 'I thought.' },
  ]);
});

test('H-026: a call that never ran is known by its missing duration', () => {
  expect(only(recorded('unknowntool'), 'call-ended', 'gate')).toMatchObject([
    { is: 'call-ended', outcome: 'invalid', content: 'Tool no_such_tool not found' },
  ]);
  expect(only(recorded('deny'), 'call-ended')).toMatchObject([
    { outcome: 'cancelled', content: 'The person said no: use another way.' },
  ]);
});

test('H-024: a retry gives the reply up with its wait, and the end is that of the last reply', () => {
  const lost = { is: 'reply-lost', reason: 'transient-error', retryInMs: 200 };
  expect(only(recorded('cutonce'), 'reply-lost', 'ended')).toMatchObject([
    { ...lost, error: { type: 'ProviderError', retryable: true } },
    completed,
  ]);
  expect(only(recorded('e429'), 'reply-lost', 'ended')).toMatchObject([
    { ...lost, error: { status: 429 } },
    { ...lost, retryInMs: 400 },
    { is: 'ended', end: { as: 'failed', error: { type: 'ProviderError', status: 429, retryable: true } } },
  ]);
});

test('H-101: a turn whose last reply failed fails, with our words for the provider’s', () => {
  const error = {
    type: 'AuthenticationError',
    message: 'The model provider refused the configured credential (status 401, authentication_error).',
    retryable: false,
    status: 401,
  };
  expect(ends(recorded('e401'))).toEqual([{ is: 'ended', end: { as: 'failed', error } }]);
});

test('H-101: an end without any reply is a failure', () => {
  const [end] = factsOf([native({ type: 'agent_settled', aborted: false })]);
  expect(end).toMatchObject({ end: { as: 'failed', error: { type: 'HarnessError' } } });
});

test('H-067: an abort is an interruption, and begins no further reply', () => {
  const facts = recorded('cancel');
  expect(ends(facts)).toEqual([{ is: 'ended', end: { as: 'interrupted' } }]);
  expect(only(facts, 'reply-begun')).toHaveLength(1);
});

test('H-030: who answers is told once a reply, by the relay before Pi', () => {
  expect(only(recorded('other'), 'served')).toEqual([{ is: 'served', model: 'served-other-model' }]);
  const relay = (fact: Extract<PiNative, { from: 'relay' }>['fact']): PiNative => ({ from: 'relay', fact });
  const [start, ...rest] = read('length')
    .filter(({ type }) => typeof type === 'string' && type.startsWith('message'))
    .slice(4)
    .map(native);
  const counted = { ...usage, inputTokens: 100, thinkingTokens: 3 };
  const facts = factsOf([
    relay({ request: 1, at: 'asked', model: 'test-model', atMs: 0 }),
    relay({ request: 1, at: 'answered', status: 200, retryAfterMs: null }),
    relay({ request: 1, at: 'served', model: 'served-by-relay' }),
    ...(start === undefined ? [] : [start]),
    relay({ request: 1, at: 'usage', usage: counted }),
    ...rest,
  ]);
  expect(facts.slice(0, 2)).toEqual([{ is: 'reply-begun' }, { is: 'served', model: 'served-by-relay' }]);
  expect(only(facts, 'served')).toHaveLength(1);
  expect(only(facts, 'reply-accepted')).toEqual([
    { is: 'reply-accepted', finishReason: 'max-tokens', raw: 'max_tokens', usage: counted },
  ]);
});

test('H-031: zeros are no counts', () => {
  const message = {
    role: 'assistant',
    stopReason: 'stop',
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  };
  expect(factsOf([native({ type: 'message_end', message })])).toMatchObject([{ is: 'reply-accepted', usage: null }]);
});

test('a refusal is an answer of the model, not a fault', () => {
  const message = { role: 'assistant', stopReason: 'error', rawStopReason: 'refusal', errorMessage: 'No.' };
  const events = [
    { type: 'message_end', message },
    { type: 'agent_settled', aborted: false },
  ];
  expect(factsOf(events.map(native))).toMatchObject([{ is: 'reply-accepted', finishReason: 'refusal' }, completed]);
});

test('U-112: servers of MCP that do not connect are named', () => {
  expect(only(recorded('mcp-dead'), 'degraded')).toEqual([{ is: 'degraded', what: 'mcp:dead' }]);
});

test('H-032: a compaction is told; one after an overflow gives the reply up', () => {
  const result = { tokensBefore: 90, estimatedTokensAfter: 20 };
  expect(factsOf([native({ type: 'compaction_end', reason: 'overflow', result })])).toEqual([
    { is: 'reply-lost', reason: 'context-overflow', retryInMs: 0 },
    { is: 'compacted', tokensBefore: 90, tokensAfter: 20 },
  ]);
});

test('H-028: a call that a tool makes by itself is judged, and is no call of the reply', () => {
  const placeholder = JSON.stringify({ id: 'a/1', name: 'read', input: {}, parent: 'a' });
  const event = { type: 'extension_ui_request', id: 'u', method: 'input', title: gateTitle, placeholder };
  expect(factsOf([native(event)])).toMatchObject([{ is: 'gate', bySubAgent: true, useKind: 'readonly' }]);
});

test('outside a turn nothing ends', () => {
  expect(factsOf(read('tool').map(native).slice(-1), idle)).toEqual([]);
});

describe.for(recordings)('%s', (file) => {
  const events = read(file.replace('pi-1.6.0-', '').replace('.jsonl', ''));

  test('knows every event', () => {
    expect(only(factsOf(events.map(native)), 'unknown')).toEqual([]);
  });

  test('H-100: cut anywhere it ends at most once, and not before its end', () => {
    for (let length = 0; length <= events.length; length += 1) {
      const facts = factsOf(events.slice(0, length).map(native));
      expect(ends(facts)).toHaveLength(length === events.length ? 1 : 0);
    }
  });

  test('H-100: with every line doubled it ends once', () => {
    expect(ends(factsOf(events.flatMap((event) => [event, event]).map(native)))).toHaveLength(1);
  });

  test('H-029: an unknown event anywhere changes nothing but itself', () => {
    const known = factsOf(events.map(native));
    const strange: JsonObject = { type: 'of_tomorrow', message: 5 };
    for (let at = 0; at <= events.length; at += 1) {
      const facts = factsOf([...events.slice(0, at), strange, ...events.slice(at)].map(native));
      expect(only(facts, 'unknown')).toEqual([{ is: 'unknown', kind: 'of_tomorrow' }]);
      expect(facts.filter(({ is }) => is !== 'unknown')).toEqual(known);
    }
  });

  test('fields of another kind never make it throw', () => {
    const kinds: readonly JsonValue[] = [null, 5, 'x', [], {}];
    for (const event of events)
      for (const key of Object.keys(event).filter((name) => name !== 'type'))
        for (const value of kinds) reduce(turnBegun, native({ ...event, [key]: value }));
  });
});

test('E-520: a gate names the file of its call', () => {
  const ask = (name: string, input: JsonObject) => {
    const placeholder = JSON.stringify({ id: 'c', name, input });
    return factsOf([native({ type: 'extension_ui_request', id: 'r', method: 'input', title: gateTitle, placeholder })]);
  };
  expect(ask('edit', { path: 'src/a.ts' })).toMatchObject([{ is: 'gate', paths: ['src/a.ts'] }]);
  expect(ask('bash', { command: 'ls' })).not.toMatchObject([{ paths: expect.anything() }]);
});
