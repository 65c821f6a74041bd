import { expect, test } from 'vitest';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { writePrivate } from './private-files.ts';

test('H-082: a private file follows no link, and is readable by nobody else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reins-private-'));
  const [file, other] = [join(folder, 'settings.json'), join(folder, 'other')];
  writeFileSync(other, 'theirs', { mode: 0o644 });
  symlinkSync(other, file);
  await writePrivate(file, { key: 'lease' });
  expect([readFileSync(other, 'utf8'), JSON.parse(readFileSync(file, 'utf8'))]).toEqual(['theirs', { key: 'lease' }]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  rmSync(folder, { recursive: true });
});
