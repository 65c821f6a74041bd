// docs/errors.md names every code that can be sent, and none that cannot (U-056).

import { expect, test } from 'vitest';
import { globSync, readFileSync } from 'node:fs';
import { operations } from '../src/protocol/openapi/operations.ts';

// The client's own errors are never sent; what the description says is promised, not done.
const exclude = ['**/*.test.ts', 'src/client/**', 'src/testing/**', 'src/protocol/openapi/**'];
const sources = globSync('src/**/*.ts', { exclude }).map((path) => readFileSync(path, 'utf8'));
const written = new Set(sources.flatMap((source) => source.match(/(?<=')[a-z]+(?:_[a-z]+)+(?=')/g) ?? []));
/** Codes by where they stand: as a field, as the first word of a helper, or among those of missing objects. */
const asCode = /(?:\bcode: |\b(?:failed|unauthorized)\(|^ {2}\w+: (?='\w+_not_found'))'([a-z]+(?:_[a-z]+)+)'/gm;
const sent = new Set(sources.flatMap((source) => [...source.matchAll(asCode)].map(([, code = '']) => code)));
const promised = Object.values(operations).flatMap(({ errors = [] }) => errors);

const rows = readFileSync('docs/errors.md', 'utf8').matchAll(/^\| (\d{3}) \| ([^|]+) \|/gm);
const named = [...rows].flatMap(([, , codes = '']) => [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => code));

test('every code that is sent, or promised by the description of the interface, is in the page', () => {
  expect(sent.size).toBeGreaterThan(40);
  expect([...sent, ...promised].filter((code) => !named.includes(code))).toEqual([]);
});

test('every code of the page is there once, and occurs in the sources', () => {
  expect(named.filter((code, index) => !written.has(code) || named.indexOf(code) !== index)).toEqual([]);
});
