import { expect, test } from 'vitest';
import { reducePart } from './reduce.ts';
import { turnBegun, type V1Setting } from './v1-state.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { StreamPart } from '../../protocol/parts/stream-part.ts';

const setting: V1Setting = { label: 'Stub', model: 'm', workspace: '/w', mayAsk: true, useKindOf: () => 'edit' };

function factsOf(...parts: readonly StreamPart[]): readonly NativeFact[] {
  let state = { ...turnBegun, total: null };
  return parts.flatMap((part) => {
    const [next, facts] = reducePart(state, part, setting);
    state = { ...next, total: null };
    return facts;
  });
}

test('E-520: a gate names the file of its call', () => {
  const input = JSON.stringify({ filePath: 'src/a.ts' });
  const facts = factsOf(
    { type: 'tool-call', toolCallId: 'c', toolName: 'write', input, providerExecuted: true },
    { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' },
  );
  expect(facts.at(-1)).toMatchObject({ is: 'gate', request: 'a', paths: ['src/a.ts'] });
});

test('H-110: what a provider sent is passed on as a sign of life, and is no progress', () => {
  expect(factsOf({ type: 'raw', rawValue: { type: 'ping' } })).toEqual([{ is: 'alive' }]);
});
