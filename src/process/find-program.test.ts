import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findProgram } from './find-program.ts';

test('H-130: a program is the first executable file of its name, and relative folders of PATH are passed over', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reins-find-'));
  try {
    const [one, two] = ['one', 'two'].map((name) => join(folder, name));
    mkdirSync(join(folder, 'one', 'tool'), { recursive: true });
    mkdirSync(join(folder, 'two'));
    writeFileSync(join(folder, 'two', 'tool'), '#!/bin/sh\n');
    expect(findProgram('tool', `.:${one}:${two}`)).toBeNull();
    chmodSync(join(folder, 'two', 'tool'), 0o755);
    expect(findProgram('tool', `.:${one}::${two}`)).toBe(join(folder, 'two', 'tool'));
    expect(findProgram('tool', undefined)).toBeNull();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
