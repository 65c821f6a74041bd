import fc from 'fast-check';
import { expect, test } from 'vitest';
import { headAndTail } from './spill.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 60 });
const units = fc.nat(20);

test('E-550, E-551: every cut is well-formed, and head, missing part and tail are the whole text', () => {
  fc.assert(
    fc.property(text, units, units, (whole, head, tail) => {
      const shown = headAndTail(whole, { head, tail, callId: 'call_1' });
      if (whole.length <= head + tail) {
        expect(shown).toBe(whole);
        return;
      }
      expect(shown.isWellFormed()).toBe(true);
      const note = /\n\[… (\d+) of (\d+) characters left out; .*offset: (\d+), limit: (\d+)\) …\]\n/.exec(shown);
      const [line = '', missing = '', length = '', offset = ''] = note ?? [];
      const [start = '', end = ''] = shown.split(line);
      expect(whole.startsWith(start) && whole.endsWith(end)).toBe(true);
      expect([Number(offset), Number(length)]).toEqual([start.length, whole.length]);
      expect(start.length + Number(missing) + end.length).toBe(whole.length);
      expect(start.length).toBeLessThanOrEqual(head);
      expect(end.length).toBeLessThanOrEqual(tail);
    }),
  );
});

test('E-550: the line between says how much is missing and how to read on', () => {
  expect(headAndTail('x'.repeat(50_000), { head: 3, tail: 2, callId: 'call "1"' })).toBe(
    'xxx\n[… 49995 of 50000 characters left out; read on with read_tool_result(id: "call \\"1\\"", offset: 3, limit: 8000) …]\nxx',
  );
});
