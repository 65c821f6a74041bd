import { expect, test } from 'vitest';
import { toolPreview, toolSummary } from './tool-summary.ts';

const lines = (count: number, line: (index: number) => string) => Array.from({ length: count }, (_, i) => line(i + 1));

test('A-052: short text has no preview, a long line and several lines have one', () => {
  expect(toolPreview('x'.repeat(320))).toBeNull();
  expect(toolPreview('x'.repeat(321))).toBe('x'.repeat(321));
  expect(toolPreview(' \n\n')).toBeNull();
  expect(toolPreview('exec ls\r\nexit=0\r\nstdout:\r\n\tfoo\tbar')).toBe('exec ls\nexit=0\nstdout:\n    foo    bar');
  expect(toolPreview('\n\n  a\n  b\n\n')).toBe('  a\n  b');
  expect(toolPreview(lines(50, (n) => `L${n}`).join('\n'))).toBe(lines(50, (n) => `L${n}`).join('\n'));
});

test('A-052: of more than 50 lines the middle is left out and counted', () => {
  const rows = (toolPreview(lines(51, (n) => `L${n}`).join('\n')) ?? '').split('\n');
  expect(rows).toHaveLength(51);
  expect(rows[40]).toBe('… (1 more lines)');
  expect(rows.at(-1)).toBe('L51');
});

test('A-053: no preview is longer than 100,000, and the end of the text stays', () => {
  expect(toolPreview('x'.repeat(300_000))).toMatch(/^x{99999}…$/);
  const wide = toolPreview(`${lines(60, () => 'y'.repeat(30_000)).join('\n')}END`) ?? '';
  expect([wide.length, wide.includes('… (10 more lines)'), wide.endsWith('END')]).toEqual([100_000, true, true]);
  const late = [...lines(45, (n) => `h${n}`), ...lines(10, () => 'z'.repeat(29_999)), 'Z'].join('\n');
  const shown = toolPreview(late) ?? '';
  expect([shown.length, shown.includes('h40\n…'), shown.endsWith('Z')]).toEqual([100_000, true, true]);
  const emoji = toolPreview(`${'a'.repeat(99_998)}😀😀`) ?? '';
  expect([emoji.length, emoji.isWellFormed()]).toEqual([99_999, true]);
});

test('A-054: a summary says how the call ended and never exceeds 320 characters', () => {
  const summary = (name: string, state: 'ok' | 'failed', content: string) =>
    toolSummary({ name, isError: state === 'failed', content });
  expect(summary('read', 'ok', '')).toBe('read · ✓ ok');
  expect(summary('run', 'failed', 'no  such\tfile\nmore')).toBe('run · ✗ failed · no such file');
  expect(summary('run', 'ok', 'one\ntwo')).toBe('run · ✓ ok · 2 lines · 7 B · one');
  expect(summary('n'.repeat(500), 'failed', 'w'.repeat(500))).toHaveLength(320);
});
