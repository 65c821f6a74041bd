import { expect, test } from 'vitest';
import { sessionTitle } from './session-title.ts';

test('UD-50: the first line, at most 80 characters, and what was cut says so', () => {
  expect(sessionTitle('  Find it.\nThen fix it.')).toBe('Find it.');
  expect(sessionTitle('a'.repeat(80))).toBe('a'.repeat(80));
  expect(sessionTitle('a'.repeat(81))).toBe(`${'a'.repeat(79)}…`);
  expect(sessionTitle(`${'a'.repeat(78)} ${'b'.repeat(9)}`)).toBe(`${'a'.repeat(78)}…`);
  expect(sessionTitle(`${'a'.repeat(78)}🙂🙂`)).toBe(`${'a'.repeat(78)}…`);
  expect(sessionTitle('')).toBe('');
});
