import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { createLogBuilder } from '../testing/log-builder.ts';
import { createPartsView, type PartsViewOptions } from './parts-view.ts';
import { decodeStreamPart, marshalStreamPart, type StreamPart } from '../protocol/parts/index.ts';
import { isLive, type RunEvent } from '../core/run-event.ts';
import { logOfAllTypes } from '../testing/log-of-all-types.ts';
import { parkRun } from '../core/closing.ts';
import type { StopReason } from '../core/outcome.ts';

function view(log: readonly RunEvent[], options: PartsViewOptions = {}): StreamPart[] {
  const parts = createPartsView(options);
  return log.flatMap((event) => parts.push(event));
}
const shown = (parts: readonly StreamPart[]) => parts.filter(({ type }) => type !== 'raw');
const lines = (parts: readonly StreamPart[]) =>
  shown(parts).map((part) => {
    const id = 'id' in part ? ` ${part.id}` : 'toolCallId' in part ? ` ${part.toolCallId}` : '';
    return `${part.type}${id}${'delta' in part ? ` ${part.delta}` : ''}`;
  });

/** Breaches of what every reader of parts relies on (P-050 to P-054, P-063). */
function faults(parts: readonly StreamPart[]): string[] {
  const [open, used, found] = [new Set<string>(), new Set<string>(), [] as string[]];
  let over = false;
  for (const part of parts) {
    if (over) found.push(`${part.type} after the end`);
    const [, kind, what] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(part.type) ?? [];
    if (kind !== undefined && 'id' in part) {
      const key = `${kind}:${part.id}`;
      if (what === 'start' && (open.has(key) || (kind !== 'tool-input' && used.has(key)))) found.push(`${key} again`);
      if (what !== 'start' && !open.has(key)) found.push(`${part.type} of ${key}, which is not open`);
      if (what === 'start') for (const set of [open, used]) set.add(key);
      if (what === 'end') open.delete(key);
      if (part.id === '') found.push('an empty id');
    }
    const isEnd = part.type === 'finish' || part.type === 'error';
    if ((isEnd || part.type === 'finish-step') && open.size > 0)
      found.push(`open at ${part.type}: ${[...open].join()}`);
    over ||= isEnd;
  }
  return found;
}

describe('for every lawful log', () => {
  test('P-063, P-064: blocks are well-formed, ids are new, and nothing follows the one end', () => {
    fc.assert(
      fc.property(arbitraryLog, fc.boolean(), (log, envelope) => {
        expect(faults(view(log, { envelope }))).toEqual([]);
        expect(faults(view(log.filter(({ type }) => !isLive(type))))).toEqual([]);
      }),
    );
  });

  test('P-020: both SDKs accept every part as it is written', () => {
    fc.assert(
      fc.property(arbitraryLog, fc.boolean(), (log, envelope) => {
        for (const part of view(log, { envelope }))
          expect(decodeStreamPart(marshalStreamPart(part))).toMatchObject({ type: part.type });
      }),
    );
  });

  test('E-845: of a pruned log the texts are whole', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const accepted = log.flatMap(({ type, data }) => (type === 'text-complete' ? [data] : [])).join('');
        const joined = (parts: readonly StreamPart[]) =>
          parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
        expect(joined(view(log.filter(({ type }) => !isLive(type))))).toBe(accepted);
      }),
    );
  });

  test('P-060: without an envelope the parts are the same ones', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        expect(lines(view(log, { envelope: true }))).toEqual(lines(view(log)));
      }),
    );
  });
});

test('P-062: a turn with a tool, an approval and a reset, as readers see it', () => {
  expect(lines(view(logOfAllTypes()))).toEqual([
    'stream-start',
    'text-start t-1-1-0',
    'text-delta t-1-1-0 given up',
    'text-end t-1-1-0',
    'reasoning-start r-1-2-0',
    'reasoning-delta r-1-2-0 Hm.',
    'reasoning-end r-1-2-0',
    'text-start t-1-2-1',
    'text-delta t-1-2-1 One ',
    'text-end t-1-2-1',
    'tool-input-start c1',
    'tool-input-delta c1 {}',
    'tool-input-start c2',
    'text-start t-1-2-1-2',
    'text-delta t-1-2-1-2 two.',
    'tool-input-delta c2 {"command":',
    'tool-input-delta c2 "ls"}',
    'text-end t-1-2-1-2',
    'tool-input-end c1',
    'tool-input-end c2',
    'tool-call c1',
    'tool-call c2',
    'tool-approval-request c2',
    'tool-result c2',
    'tool-result c1',
    'file-change',
    'compaction',
    'finish-step',
    'error',
  ]);
});

test('P-003, P-062: calls say how many they are, who runs them, and what the model wrote', () => {
  const calls = view(logOfAllTypes(), { isHosted: (name) => name === 'ask' }).filter(
    ({ type }) => type === 'tool-call',
  );
  expect(calls).toEqual([
    { type: 'tool-call', toolCallId: 'c1', toolName: 'ask', input: '{}', stepToolCallCount: 2 },
    {
      type: 'tool-call',
      toolCallId: 'c2',
      toolName: 'tool',
      input: '{"command":"ls"}',
      providerExecuted: true,
      stepToolCallCount: 2,
    },
  ]);
});

test('P-062: what parts have no key for stands in our metadata', () => {
  const parts = view(logOfAllTypes());
  const of = (type: StreamPart['type']) => parts.find((part) => part.type === type);
  expect(of('tool-approval-request')).toMatchObject({
    approvalId: 'apr_2',
    providerMetadata: { reins: { argsDigest: 'digest', expiresAtMs: null } },
  });
  expect(of('compaction')).toMatchObject({
    trigger: 'auto',
    summary: '',
    tokensBefore: 9,
    harnessMetadata: { reins: { trigger: 'overflow', method: 'summary' } },
  });
  expect(of('file-change')).toMatchObject({ path: 'a.ts', harnessMetadata: { reins: { fileId: 'file_1' } } });
  expect(of('finish-step')).toMatchObject({
    finishReason: { unified: 'tool-calls', raw: 'tool_use' },
    usage: {
      inputTokens: { total: 10, noCache: undefined, cacheRead: 2, cacheWrite: undefined },
      raw: { reins: { usageIncomplete: true } },
    },
  });
  expect(of('error')).toEqual({ type: 'error', error: { name: 'ProviderError', message: 'The provider failed.' } });
  expect(of('text-delta')).not.toHaveProperty('harnessMetadata');
});

test('E-104: no private field leaves', () => {
  const text = JSON.stringify(view(logOfAllTypes(), { envelope: true }));
  expect(text).not.toMatch(/"_(?:raw|config|base|provider)"/);
});

describe('P-064: how a turn ends', () => {
  const ended = (status: 'completed' | 'cancelled', stopReason: StopReason, budget?: 'steps' | 'output-tokens') => {
    const log = createLogBuilder();
    log.start();
    log.step({ blocks: [{ kind: 'text', pieces: ['Done.'] }], finishReason: 'end-turn' });
    log.end({ status, stopReason, ...(budget === undefined ? {} : { budget }) });
    return view(log.events).at(-1);
  };

  test('completed: finish, with its reason', () => {
    expect(ended('completed', 'end-turn')).toMatchObject({
      type: 'finish',
      finishReason: { unified: 'stop', raw: 'end-turn' },
    });
  });

  test('by a budget: finish with other, and which', () => {
    const reason = (raw: string) => ({ type: 'finish', finishReason: { unified: 'other', raw } });
    expect(ended('completed', 'max-steps', 'steps')).toMatchObject(reason('max-steps'));
    expect(ended('completed', 'max-tokens', 'output-tokens')).toMatchObject(reason('max-tokens'));
  });

  test('cancelled: no success', () => {
    expect(ended('cancelled', 'cancelled')).toEqual({
      type: 'error',
      error: { name: 'RunCancelled', message: 'Request cancelled.' },
    });
  });

  test('P-116: no end while it waits for a person', () => {
    const log = createLogBuilder();
    log.start();
    log.step({ blocks: [{ kind: 'text', pieces: ['Hm.'] }] });
    for (const draft of parkRun(log.state, { status: 'awaiting-input' }, 5)) log.add(draft);
    const types = view(log.events).map(({ type }) => type);
    expect(types).not.toContain('finish');
    expect(types).not.toContain('error');
    expect(types.at(-1)).toBe('raw');
  });
});
