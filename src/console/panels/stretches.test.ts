import { expect, test } from 'vitest';
import fc from 'fast-check';
import { intoStretches, turnsOf, type Stretch } from './stretches.ts';
import type { Row } from '../state/row.ts';

const row = (at: number, turn = 'a'): Row => ({ kind: 'user', id: `row ${at}`, turn, place: at, text: '' });
const rowsOf = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => row(from + at));
/** What the window holds, one after the other: rows come at either end, and leave at either. */
const windows = fc.array(fc.tuple(fc.nat(150), fc.nat(150)), { minLength: 1, maxLength: 12 });

test('B148: stretches hold all rows in order, few each, under keys of their own, whatever was shown before', () => {
  fc.assert(
    fc.property(windows, (shown) => {
      let stretches: readonly Stretch[] = [];
      for (const [from, many] of shown) {
        const rows = rowsOf(from, from + many);
        stretches = intoStretches(rows, stretches);
        expect(stretches.flatMap((stretch) => stretch.rows)).toEqual(rows);
        expect(stretches.every((stretch) => stretch.rows.length > 0 && stretch.rows.length <= 24)).toBe(true);
        expect(new Set(stretches.map(({ key }) => key)).size).toBe(stretches.length);
      }
    }),
  );
});

test('C-038: rows that come or leave at the beginning or the end move no other row to another stretch', () => {
  fc.assert(
    fc.property(fc.nat(60), fc.nat(60), fc.nat(60), fc.nat(60), (start, end, laterStart, laterEnd) => {
      const first = intoStretches(rowsOf(start, 100 + end), []);
      const homes = new Map(first.flatMap(({ key, rows }) => rows.map(({ id }) => [id, key] as const)));
      for (const { key, rows } of intoStretches(rowsOf(laterStart, 100 + laterEnd), first))
        for (const { id } of rows) expect(homes.get(id) ?? key).toBe(key);
    }),
  );
});

test('a stretch of which no row changed is the same object', () => {
  const rows = rowsOf(0, 60);
  const before = intoStretches(rows, []);
  const after = intoStretches([...rows.with(59, { ...row(59) }), row(60)], before);
  expect(after.map((stretch, at) => stretch === before[at])).toEqual([true, true, false]);
});

test('turns of a stretch hold its rows in order, each of one turn', () => {
  const rows = [row(0), row(1), row(2, 'b'), row(3, 'c'), row(4, 'c')];
  expect(turnsOf(rows).map((own) => own.map(({ turn }) => turn).join(''))).toEqual(['aa', 'b', 'cc']);
});
