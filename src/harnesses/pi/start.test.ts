import { afterAll, expect, test } from 'vitest';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createPiRuntime } from './pi-runtime.ts';
import { dirname, join } from 'node:path';
import { gateTitle } from './gate.ts';
import { listMembers } from '../../process/process-tree.ts';
import { nativeOptions } from '../../../test/support/native-options.ts';
import { silentLogger } from '../../core/logger.ts';
import { systemClock, systemRandom } from '../../system.ts';
import { tmpdir } from 'node:os';

const root = mkdtempSync(join(tmpdir(), 'reins-pi-stub-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const parts = { clock: systemClock, random: systemRandom, logger: silentLogger };
const program = join(root, 'pi');
const host = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` };

test('H-071: a session that cannot be gone on with is begun anew, under another id, and nothing of it is left', async () => {
  const runtime = createPiRuntime({ ...parts, host, path: program });
  const { options, states } = nativeOptions(root, { resume: { nativeId: 'broken', version: null } });
  const { marker } = options;
  const session = await runtime.open(options);
  expect(session.resumed).toBe(false);
  expect(states).toEqual([{ nativeId: expect.stringMatching(/^[0-9a-f]{32}$/), version: '1.6.0' }]);
  expect(await listMembers({ marker, root: null })).toHaveLength(1);
  await session.stop();
});

writeFileSync(
  program,
  `#!/usr/bin/env node
if (process.argv.includes('--version')) { console.log('1.6.0'); process.exit(0); }
if (process.argv.includes('broken')) process.exit(3);
const send = (value) => console.log(JSON.stringify(value));
send({ type: 'extension_ui_request', method: 'notify', message: '${gateTitle}' });
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  send({ type: 'response', id: JSON.parse(line).id, success: true, data: { messageCount: 4 } });
});
`,
);
chmodSync(program, 0o755);
