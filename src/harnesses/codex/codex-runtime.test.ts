import { afterAll, expect, test } from 'vitest';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createCodexRuntime } from './codex-runtime.ts';
import { join } from 'node:path';
import { silentLogger } from '../../core/logger.ts';
import { systemClock, systemRandom } from '../../system.ts';
import { tmpdir } from 'node:os';

const root = mkdtempSync(join(tmpdir(), 'reins-codex-stub-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test.each([
  [0, 'own'],
  [1, 'none'],
] as const)('H-014, H-401: where its sandbox ends with %i, its status says: %s', async (code, sandbox) => {
  const path = join(root, `codex-${code}`);
  writeFileSync(path, `#!/bin/sh\nif [ "$1" = sandbox ]; then exit ${code}; fi\necho codex-cli 0.171.0\n`);
  chmodSync(path, 0o755);
  const host = { PATH: process.env['PATH'] };
  const runtime = createCodexRuntime({ clock: systemClock, random: systemRandom, logger: silentLogger, host, path });
  expect(await runtime.probe()).toMatchObject({ installed: true, problem: null });
  expect(runtime.capabilities.sandbox).toBe(sandbox);
});
