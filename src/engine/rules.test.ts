// docs/engine.md says which test proves which rule; here is what keeps it honest.

import { expect, test } from 'vitest';
import { existsSync, readFileSync } from 'node:fs';

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

test('a rule that is said to be proven is named by a test that stands there; else `node scripts/engine-rules.js` is due', () => {
  const unproven = rows.filter(({ rule, proof }) => {
    const paths = [...proof.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    return paths.length > 0 && !paths.some((path) => existsSync(new URL(path, root)) && read(path).includes(rule));
  });
  expect(unproven).toEqual([]);
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
