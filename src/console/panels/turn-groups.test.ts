import { expect, test } from 'vitest';
import fc from 'fast-check';
import { groupByTurn, type TurnGroup } from './turn-groups.ts';
import type { Row } from '../state/row.ts';

const row = (turn: string, at: number): Row => ({ kind: 'user', id: `${turn}/${at}`, turn, place: at, text: '' });
const anyRows = fc
  .array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 4 })))
  .map((turns) => turns.flatMap(([turn, many], at) => Array.from({ length: many }, (_, n) => row(turn, at * 10 + n))));

test('groups hold all rows in order, each of one turn, under keys of their own', () => {
  fc.assert(
    fc.property(anyRows, (rows) => {
      const groups = groupByTurn(rows, []);
      expect(groups.flatMap((group) => group.rows)).toEqual(rows);
      expect(groups.every(({ turn, rows: own }) => own.every((each) => each.turn === turn))).toBe(true);
      expect(new Set(groups.map(({ key }) => key)).size).toBe(groups.length);
    }),
  );
});

test('a turn that did not change is the same object, whatever happens to the others', () => {
  const rows = [row('a', 0), row('a', 1), row('b', 0), row('c', 0)];
  const before = groupByTurn(rows, []);
  const after = groupByTurn([...rows.slice(0, 3), { ...row('c', 0) }, row('c', 1)], before);
  expect(after.map((group, at) => group === before[at])).toEqual([true, true, false]);
});

test('C-038: rows that leave the window change the key of no turn', () => {
  const keys = (groups: readonly TurnGroup[]) => groups.map(({ key }) => key);
  const rows = [row('a', 0), row('a', 1), row('b', 0)];
  const before = groupByTurn(rows, []);
  expect(keys(groupByTurn(rows.slice(1), before))).toEqual(keys(before));
});
