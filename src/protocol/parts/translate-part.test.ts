import { describe, expect, test } from 'vitest';
import { translated } from '../../testing/part-vectors.ts';
import { addUsage, createToolOrigins, emptyUsage, translatePart, type StreamPart } from './index.ts';

const md = { harnessMetadata: { pi: { a: 1 } } };
const asProvider = { providerMetadata: md.harnessMetadata };

describe('P-045: parts as chunks', () => {
  test.each(translated)('%j', (part, chunks) => {
    expect(translatePart(part)).toStrictEqual(chunks);
  });

  test('E33: pieces of tool input stay as they are', () => {
    const delta: StreamPart = { type: 'tool-input-delta', id: 'c', delta: 'x', providerMetadata: { p: {} } };
    expect(translatePart(delta)[0]).toBe(delta);
  });

  test('P-047: the call says who ran it: a failure of the host stays a result, one of an unknown call is the runtime’s', () => {
    const origins = createToolOrigins();
    const failed = (toolCallId: string): StreamPart => ({
      type: 'tool-result',
      toolCallId,
      toolName: 't',
      result: 'x',
      isError: true,
    });
    origins.watch({ type: 'tool-call', toolCallId: 'own', toolName: 't', input: '', providerExecuted: true });
    origins.watch({ type: 'tool-call', toolCallId: 'host', toolName: 't', input: '' });
    origins.watch({ type: 'tool-call', toolCallId: 'said', toolName: 't', input: '', providerExecuted: false });
    const kinds = ['own', 'host', 'said', 'unknown'].map((id) => translatePart(failed(id), origins)[0]?.type);
    expect(kinds).toEqual(['tool-error', 'tool-result', 'tool-result', 'tool-error']);
  });

  test('P-046: a change of a file and a compaction are each a call and its result under one id, the same on a replay', () => {
    const change: StreamPart = { type: 'file-change', event: 'create', path: '/w/a', ...md };
    const ids = { runId: 'run_1', seq: 7 };
    const pair = translatePart(change, { ids });
    const input = { event: 'create', path: '/w/a' };
    const shown = { toolName: 'fileChange', input, dynamic: true, providerExecuted: true, ...asProvider };
    const toolCallId = expect.stringMatching(/^harness-file-change-[0-9a-f]{16}$/);
    expect(pair).toEqual([
      { type: 'tool-call', toolCallId, ...shown },
      { type: 'tool-result', toolCallId, ...shown, output: input },
    ]);
    expect(translatePart(change, { ids })).toEqual(pair);
    expect(translatePart(change, { ids: { ...ids, seq: 8 } })).not.toEqual(pair);
    expect(translatePart({ type: 'compaction', trigger: 'auto', summary: 's', tokensAfter: 3 }, { ids })).toMatchObject(
      [
        { type: 'tool-call', toolCallId: expect.stringMatching(/^harness-compaction-[0-9a-f]{16}$/), input: {} },
        { type: 'tool-result', output: { trigger: 'auto', summary: 's', tokensAfter: 3 } },
      ],
    );
  });
});

test('P-035: a sum of usages knows what one of them knew, and invents nothing', () => {
  const some = {
    inputTokens: { ...emptyUsage().inputTokens, total: 5, cacheRead: 0 },
    outputTokens: { ...emptyUsage().outputTokens, text: 1 },
    raw: { a: 1 },
  };
  expect(addUsage(emptyUsage(), emptyUsage())).toStrictEqual(emptyUsage());
  expect(addUsage(some, emptyUsage())).toStrictEqual({
    inputTokens: some.inputTokens,
    outputTokens: some.outputTokens,
  });
  expect(addUsage(some, some)).toMatchObject({ inputTokens: { total: 10, cacheRead: 0 }, outputTokens: { text: 2 } });
});
