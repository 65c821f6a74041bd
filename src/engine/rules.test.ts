// docs/engine.md says which test proves which rule; here is what keeps it honest.

import { expect, test } from 'vitest';
import { readFileSync } from 'node:fs';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/engine.md');
const rows = [...page.matchAll(/^\| (E-\d{3}) \| .+ \| (.+) \|$/gm)].map(([, rule = '', proof = '']) => ({
  rule,
  proof,
}));

test('every rule stands once, in order', () => {
  const rules = rows.map(({ rule }) => rule);
  expect(rules.length).toBeGreaterThan(250);
  expect(rules).toEqual([...new Set(rules)].toSorted());
});

test('every test that a rule is said to be proven by names the rule', () => {
  const missing = rows.flatMap(({ rule, proof }) =>
    [...proof.matchAll(/`([^`]+)`/g)].flatMap(([, path = '']) =>
      read(path).includes(rule) ? [] : [`${rule}: ${path}`],
    ),
  );
  expect(missing).toEqual([]);
});

test('every rule has its tests, or a word on why it has none', () => {
  const silent = rows.filter(
    ({ proof }) => !proof.startsWith('`') && !proof.startsWith('not done: ') && proof !== '*None*',
  );
  expect(silent).toEqual([]);
});

test('E-012: users read that exactly-once holds for recording, and that effects follow the replay policy', () => {
  expect(page).toContain('Exactly-once holds for recording; effects are at-least-once or at-most-once');
});
