// Rewrites the last column of the rules in docs/engine.md: the tests that name each rule. Rows that say why a rule is not
// done are left alone.

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = `${root}docs/engine.md`;

const tests = globSync(['src/**/*.test.ts', 'src/testing/*contract*.ts', 'test/**/*.test.ts'], { cwd: root })
  .map((path) => path.replaceAll('\\', '/'))
  .toSorted()
  .map((path) => ({ path, text: readFileSync(`${root}${path}`, 'utf8') }));

const rows = readFileSync(page, 'utf8').replaceAll(
  /^\| (E-\d{3}) \| (.+) \| (?!not done)(.*)\|$/gm,
  (_, rule, what) => {
    const named = tests.filter(({ text }) => text.includes(rule)).map(({ path }) => `\`${path}\``);
    const rest = named.length > 4 ? ` and ${named.length - 4} more` : '';
    return `| ${rule} | ${what} | ${named.length === 0 ? '*None*' : named.slice(0, 4).join(', ') + rest} |`;
  },
);
writeFileSync(page, rows);
