// A task that waits for a person, its process kept by one server, and its end by the word of another.

import { ended } from './support/uhp.ts';
import { expect, test, vi } from 'vitest';
import { eventually } from './support/asking-server.ts';
import { join } from 'node:path';
import { placeStubs, processesOf } from './support/stub-programs.ts';
import { startProcess } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { writeFileSync } from 'node:fs';

vi.setConfig({ testTimeout: 30_000 });

test.skipIf(process.platform !== 'linux')(
  'H-060: a parked run that is cancelled through another server than the one that keeps its process leaves none',
  async () => {
    const data = temporaryFolder();
    const settings = { ...placeStubs(join(data, 'stubs')), approvals: { permissionMode: 'allow-reads' } };
    writeFileSync(join(data, 'config.json'), JSON.stringify(settings));
    const env = { OPENAI_API_KEY: 'key', OPENAI_BASE_URL: 'http://127.0.0.1:9' };
    const [keeper, other] = [await startProcess(data, env), await startProcess(data, env)];
    try {
      const made = await keeper.uhp.send('POST', '/v1/harnesses', { body: { base: 'acp-stub', name: 'stub' } });
      const metadata = { harness_id: made.body.id };
      const task = { input: 'Now permission', model: 'openai/test-model', metadata, background: true };
      const { body } = await keeper.uhp.create(task);
      await eventually(async () => {
        const asked = await other.uhp.send('GET', '/v1/reins/approvals?status=pending');
        return (asked.body['approvals'] as unknown[]).length > 0 || undefined;
      }, 10_000);
      const left = () => processesOf(data, body.metadata.session_id);
      expect(await left()).not.toEqual([]);
      await other.uhp.cancel(body.id);
      expect(await ended(other.uhp, body.id)).toMatchObject({ status: 'cancelled', error: null });
      expect(await left()).toEqual([]);
    } finally {
      await Promise.all([keeper.kill(), other.kill()]);
    }
  },
);
