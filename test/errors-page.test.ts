// docs/errors.md names every code that can be sent, and none that cannot (U-056).

import { expect, test } from 'vitest';
import { globSync, readFileSync } from 'node:fs';
import { operations } from '../src/protocol/openapi/operations.ts';

/** How the sources write a code: as a field, as the first word of a helper, or among those of missing objects. */
const written =
  /(?:\bcode: |\b(?:failed|unauthorized)\(|previewError\(\d+, |\breturn (?='reins_)|^ {2}\w+: (?='\w+_not_found'))'([a-z]+(?:_[a-z]+)+)'/gm;
const sources = globSync('src/**/*.ts', { exclude: ['**/*.test.ts', 'src/client/**', 'src/testing/**'] });
const sent = new Set(
  sources.flatMap((path) => [...readFileSync(path, 'utf8').matchAll(written)].map(([, code = '']) => code)),
);

const rows = readFileSync('docs/errors.md', 'utf8').matchAll(/^\| (\d{3}) \| ([^|]+) \|/gm);
const named = [...rows].flatMap(([, , codes = '']) => [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => code));

test('every code that the sources send is in the page, once, and every code of the page is sent', () => {
  expect(named.toSorted()).toEqual([...sent].toSorted());
});

test('every code that the description of the interface promises is in the page', () => {
  const promised = Object.values(operations).flatMap(({ errors = [] }) => errors);
  expect(promised.filter((code) => !named.includes(code))).toEqual([]);
});
