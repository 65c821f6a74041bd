// UT-40: a command that a crash cut off waits for a word on its outcome.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addHarness, startProcess, startServer } from './support/server.ts';
import { allowAll } from '../src/core/run-config.ts';
import { askedBy, eventually, readFor, say as tell } from './support/asking-server.ts';
import { call, reply, say, startModel, type Replies } from './support/model.ts';
import { ended } from './support/uhp.ts';
import { temporaryFolder } from './support/folders.ts';

const replies: Replies = {
  run: [reply(call('b', 'bash', { command: 'echo x >> ran; sleep 1' })), say('Done.')],
};

test.each([
  ['result', { action: 'result', output: 'It had run.' }, { read: 'It had run.', runs: 1 }],
  ['abort', { action: 'abort' }, { read: 'unknown', runs: 1 }],
  ['retry', { action: 'retry' }, { read: 'No output', runs: 2 }],
])(
  'E-543: a command that a crash cut off waits for a word on its outcome: %s',
  async (action, body, { read, runs }) => {
    const data = temporaryFolder();
    await addHarness(data, 'owner', { permissions: { ...allowAll, onUnknown: 'park' } });
    await using model = await startModel((said) => replies[said]);
    const settings = { ...model.settings, agent: { shell: { kind: 'host' } } };
    writeFileSync(join(data, 'config.json'), JSON.stringify(settings));
    const first = await startProcess(data, model.env);
    const { body: task } = await first.uhp.create({ input: 'run', background: true });
    const ran = join(data, 'workspaces', task.metadata.session_id, 'ran');
    await eventually(() => existsSync(ran) || undefined);
    await first.kill();
    await using place = await startServer({ data, env: model.env, settings });
    const [asked] = await askedBy(place.uhp, task.id);
    if (asked === undefined) throw new Error('Nothing is asked.');
    expect(asked).toMatchObject({ kind: 'recovery', status: 'uncertain', call_id: 'b', name: 'bash' });
    expect(await tell(place.uhp, asked, 'decide', { decision: 'approve' })).toMatchObject({ status: 400 });
    expect((await tell(place.uhp, asked, 'resolve', body)).body).toMatchObject({ status: 'resolved' });
    expect(await tell(place.uhp, asked, 'resolve', { action: action === 'retry' ? 'abort' : 'retry' })).toMatchObject({
      code: 'reins_approval_conflict',
    });
    expect((await tell(place.uhp, asked, 'resolve', body)).status).toBe(200);
    expect(await ended(place.uhp, task.id)).toMatchObject({ status: 'completed' });
    expect(readFor({ model }, 'run').find(({ role }) => role === 'tool')?.content).toContain(read);
    expect(readFileSync(ran, 'utf8')).toBe('x\n'.repeat(runs));
  },
);
