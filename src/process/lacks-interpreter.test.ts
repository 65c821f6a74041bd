import { expect, onTestFinished, test } from 'vitest';
import { join } from 'node:path';
import { lacksInterpreter } from './lacks-interpreter.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

test.skipIf(process.platform === 'win32')(
  'a program and a script have something that runs them; a mere text and an empty file have not',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'reins-text-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = (name: string, content: string) => {
      writeFileSync(join(folder, name), content, { mode: 0o755 });
      return join(folder, name);
    };
    expect(lacksInterpreter(process.execPath)).toBe(false);
    expect(lacksInterpreter(file('script', '#!/usr/bin/env node\n'))).toBe(false);
    expect(lacksInterpreter(file('text', 'console.log(1);\n'))).toBe(true);
    expect(lacksInterpreter(file('empty', ''))).toBe(true);
  },
);
