import { expect, test } from 'vitest';
import { encodeSse, keepAlive } from './sse.ts';

test('UD-16: id, one data line, a blank line, LF only', () => {
  expect(encodeSse(7, '{"a":1}')).toBe('id: 7\ndata: {"a":1}\n\n');
  expect(keepAlive).toMatch(/^: [^\n]+\n\n$/);
});
