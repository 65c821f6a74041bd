import { expect, test } from 'vitest';
import { foldStored } from './from-history.ts';
import { fromUhp } from './from-uhp.ts';
import type { TaskEvent, UhpResponse } from './wire.ts';

const call = { id: 'i1', type: 'function_call', status: 'completed', call_id: 'c1', name: 'bash' } as const;
const item = { ...call, arguments: '{"command":"npm test"}' };

test('C-020: what a call was made with is told while it goes on, and of turns that are over', () => {
  const event = { type: 'response.output_item.done', output_index: 0, item } as unknown as TaskEvent;
  expect(fromUhp(event)).toMatchObject([{ type: 'tool_start', id: 'c1', input: item.arguments }]);
  const output = { id: 'i2', type: 'function_call_output', status: 'completed', call_id: 'c1', output: 'fine' };
  const response = { id: 'r1', status: 'completed', output: [item, output], metadata: {} } as unknown as UhpResponse;
  const stored = { id: 'r1', user: 'go', startedMs: 0, source: { kind: 'response', response } } as const;
  expect(foldStored(stored).rows[1]).toMatchObject({
    kind: 'tool_run',
    items: [{ name: 'bash', asked: 'npm test', input: item.arguments, state: 'ok' }],
  });
});
