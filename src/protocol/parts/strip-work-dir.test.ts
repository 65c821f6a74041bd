import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { strippedFrom as dir, strippedPieces, strippedTexts } from '../../testing/part-vectors.ts';
import { createWorkDirStripper, stripWorkDir, type StreamPart } from './index.ts';

const strip = (text: string, from = dir) => {
  const part = stripWorkDir({ type: 'file-change', event: 'modify', path: text }, from);
  return part.type === 'file-change' ? part.path : '';
};

describe('P-042, P-043: which text is a path below the directory', () => {
  test.each(strippedTexts)('%s', (text, shown) => {
    expect(strip(text)).toBe(shown);
    expect(strip(text, '/box/s1/')).toBe(shown);
  });
});

describe('P-041: which fields are touched', () => {
  test('every text in a result, and no key', () => {
    const result = { '/box/s1/k': ['/box/s1/a', { deep: '/box/s1' }, 1, null], ['__proto__']: '/box/s1/b' };
    expect(stripWorkDir({ type: 'tool-result', toolCallId: 'c', toolName: 't', result }, dir)).toEqual({
      type: 'tool-result',
      toolCallId: 'c',
      toolName: 't',
      result: { '/box/s1/k': ['a', { deep: '.' }, 1, null], ['__proto__']: 'b' },
    });
    expect(result['/box/s1/k'][0]).toBe('/box/s1/a');
  });

  test('nesting has no limit', () => {
    const result = JSON.parse('['.repeat(50_000) + '"/box/s1/a"' + ']'.repeat(50_000));
    const part = stripWorkDir({ type: 'tool-result', toolCallId: 'c', toolName: 't', result }, dir);
    let inner: unknown = part.type === 'tool-result' ? part.result : null;
    while (Array.isArray(inner)) inner = inner[0];
    expect(inner).toBe('a');
  });

  test('all other parts, and all parts without a directory, come back as the same instance', () => {
    const others: readonly StreamPart[] = [
      { type: 'text-delta', id: 't', delta: dir },
      { type: 'reasoning-delta', id: 't', delta: dir },
      { type: 'error', error: dir },
      { type: 'raw', rawValue: dir },
      { type: 'compaction', trigger: 'auto', summary: dir },
    ];
    for (const part of others) expect(stripWorkDir(part, dir)).toBe(part);
    const call: StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 't', input: `"${dir}"` };
    expect(stripWorkDir(call, dir)).toEqual({ ...call, input: '"."' });
    for (const none of ['', '/', '//']) expect(stripWorkDir(call, none)).toBe(call);
    expect(createWorkDirStripper('')(call)).toEqual([call]);
  });
});

const start: StreamPart = { type: 'tool-input-start', id: 'c', toolName: 't' };
const end: StreamPart = { type: 'tool-input-end', id: 'c' };
const piece = (delta: string): StreamPart => ({ type: 'tool-input-delta', id: 'c', delta });
const deltasOf = (parts: readonly StreamPart[]) =>
  parts.flatMap((part) => (part.type === 'tool-input-delta' ? [part.delta] : []));
function stream(pieces: readonly string[]): readonly StreamPart[] {
  const stripper = createWorkDirStripper(dir);
  return [start, ...pieces.map(piece), end].flatMap((part) => stripper(part));
}

describe('P-044: the streaming form', () => {
  test.each(strippedPieces)('%j', (pieces, shown) => {
    const parts = stream(pieces);
    expect(deltasOf(parts)).toEqual(shown);
    expect([parts[0], parts.at(-1)]).toEqual([start, end]);
  });

  test('however the input is cut, the joined output is that of the joined input', () => {
    const words = fc.constantFrom(
      dir,
      '/box',
      '/s1',
      '/',
      '//',
      ' ',
      '"',
      '=',
      ':',
      ';',
      '(',
      'a',
      '\n',
      '/box/s1/x',
      '\\',
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 20 }), fc.array(fc.nat(60), { maxLength: 10 }), (text, cuts) => {
        const whole = text.join('');
        const at = [0, ...cuts.filter((cut) => cut < whole.length).toSorted((a, b) => a - b), whole.length];
        const pieces = at.slice(1).map((to, index) => whole.slice(at[index], to));
        expect(deltasOf(stream(pieces)).join('')).toBe(strip(whole));
      }),
      { numRuns: 2_000 },
    );
  });

  test('inputs are told apart by their call, and nothing is held after a call, a new start or a reset', () => {
    const stripper = createWorkDirStripper(dir);
    const other: StreamPart = { type: 'tool-input-delta', id: 'd', delta: '/box/' };
    expect([piece('x'), other, piece('/box/s1')].flatMap(stripper)).toEqual([piece('x'), piece('/box/s1')]);
    const reset: StreamPart = { type: 'raw', rawValue: { type: 'reins.attempt-reset' } };
    for (const cut of [start, { type: 'tool-call', toolCallId: 'c', toolName: 't', input: '{}' } as const, reset]) {
      stripper(piece('/bo'));
      stripper(cut);
      expect(stripper(piece('x/s1/a'))).toEqual([piece('x/s1/a')]);
      expect(stripper(end)).toEqual([end]);
    }
  });
});
