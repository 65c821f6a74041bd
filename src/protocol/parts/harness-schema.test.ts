// P-117: against the schemas of the pinned `@ai-sdk/harness`. What they accept we accept, with an equal value; what we write
// they accept. Each difference that remains is a row of the table, named here: a new one fails.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { harnessV1BridgeOutboundMessageSchema, harnessV1StreamPartSchema } from '@ai-sdk/harness';
import { arbitraryPart } from '../../testing/arbitrary-part.ts';
import { decodeStreamPart, marshalStreamPart, StreamPartError } from './index.ts';

const schemas = [harnessV1StreamPartSchema, harnessV1BridgeOutboundMessageSchema];
/** As text sees it: undefined is absence. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
/** E12, E13: counts that they take as they are. E23: `__proto__`, which they drop. */
const differs = (text: string) =>
  text.includes('"__proto__"') ||
  /"(total|noCache|cacheRead|cacheWrite|text|reasoning|tokensBefore|tokensAfter)":-?\d*[.e-]/.test(text) ||
  /"tokens\w+":(-|\d{16})/.test(text);

function ours(input: unknown): { readonly value: unknown } | null {
  try {
    return { value: plain(decodeStreamPart(input)) };
  } catch (cause) {
    if (cause instanceof StreamPartError) return null;
    throw cause;
  }
}

test('everything that is written is accepted there as what it is', () => {
  fc.assert(
    fc.property(arbitraryPart, (part) => {
      const text = marshalStreamPart(part);
      fc.pre(!differs(text));
      for (const schema of schemas) expect(plain(schema.parse(JSON.parse(text)))).toEqual(JSON.parse(text));
    }),
    { numRuns: 2_000 },
  );
});

test('everything that is accepted there is read here as the same', () => {
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(null, '', 0, -1, 1.5, true, 'stop', 'auto', {}, []),
  );
  const mutated = fc.tuple(arbitraryPart, fc.nat(9), odd, fc.boolean()).map(([part, at, put, drop]) => {
    const key = Object.keys(part)[at] ?? 'extra';
    const entries = Object.entries(part).filter(([each]) => !drop || each !== key);
    return plain(drop ? Object.fromEntries(entries) : { ...part, [key]: put });
  });
  let accepted = 0;
  fc.assert(
    fc.property(fc.oneof(arbitraryPart.map(plain), mutated), (input) => {
      fc.pre(!differs(JSON.stringify(input)));
      const theirs = harnessV1StreamPartSchema.safeParse(input);
      if (!theirs.success) return;
      accepted += 1;
      // E18: they leave out a value that is missing.
      const value = {
        ...(theirs.data.type === 'error' ? { error: null } : theirs.data.type === 'raw' ? { rawValue: null } : {}),
        ...plain(theirs.data),
      };
      expect(ours(JSON.stringify(input))).toEqual({ value });
    }),
    { numRuns: 4_000 },
  );
  expect(accepted).toBeGreaterThan(1_000);
});

const call = { type: 'tool-call', toolCallId: 'c', toolName: 't', input: '' };
const counts = { inputTokens: {}, outputTokens: {} };
const finish = { type: 'finish', finishReason: { unified: 'stop' }, totalUsage: counts };

test.each<readonly [string, unknown, { readonly there: boolean; readonly here: boolean }]>([
  ['E1', { type: 'custom' }, { there: false, here: false }],
  ['E4', { ...call, input: null }, { there: false, here: false }],
  ['E5', { type: 'tool-result', toolCallId: 'c', toolName: 't', result: null }, { there: true, here: true }],
  ['E6', { type: 'tool-result', toolCallId: 'c', toolName: 't' }, { there: false, here: false }],
  ['E7', { ...call, providerExecuted: null }, { there: false, here: true }],
  ['E9', { ...call, stepToolCallCount: 0 }, { there: false, here: false }],
  ['E10', { ...call, stepToolCallCount: 2.0 }, { there: true, here: true }],
  ['E11', { ...call, stepToolCallCount: 2 ** 53 }, { there: false, here: false }],
  ['E14', { ...finish, totalUsage: {} }, { there: false, here: true }],
  ['E15', { type: 'stream-start', warnings: [{ type: 'new' }] }, { there: false, here: true }],
  ['E16', { type: 'stream-start', warnings: [{ type: 'other' }] }, { there: false, here: true }],
  ['E17', { ...finish, finishReason: { unified: 'interrupted' } }, { there: false, here: false }],
  ['E19', { ...call, input: {} }, { there: false, here: false }],
  ['E27', { type: 'text-end', id: 'a', harnessMetadata: { p: 1 } }, { there: false, here: false }],
])('%s: the known difference stands', (_row, input, { there, here }) => {
  expect([harnessV1StreamPartSchema.safeParse(input).success, ours(JSON.stringify(input)) !== null]).toEqual([
    there,
    here,
  ]);
});
