// A run that waited is ended by somebody's word: what its harness kept for it goes with it.

import { expect, test } from 'vitest';
import { admissionOf, pendingOf, requestDraft, resultDraft, stampAll } from '../testing/store-samples.ts';
import { stopRun } from './cancel-task.ts';
import { composeLocal } from '../compose.ts';
import { createRegistry } from '../harnesses/registry.ts';
import { loadConfig } from '../config.ts';
import { type EventDraft } from '../core/run-event.ts';
import { noBudgets } from '../core/run-config.ts';
import { tmpdir } from 'node:os';
import { readAll, write } from '../testing/store-steps.ts';
import type { HarnessAdapter } from '../harnesses/harness.ts';
import type { Services } from './services.ts';

const left = ['sleep (process 7)'];

test.for([
  ['is named', async () => left, left],
  ['cannot be told', () => Promise.reject(new Error('no')), [expect.any(String)]],
  ['is nothing', async () => [], []],
] as const)(
  'H-060: of a parked run that is cancelled, what could not be stopped %s',
  async ([, endParked, unstopped]) => {
    await using local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
    const asked: (readonly string[])[] = [];
    const services = withAdapter(local.services, {
      endParked(...which) {
        asked.push(which);
        return endParked();
      },
    });
    const run = admissionOf('parked');
    const { runId, sessionId } = run;
    await services.store.admit({ ...run, events: stampAll([start], runId, sessionId) });
    await write(services.store, run, [
      requestDraft(pendingOf('c', runId)),
      resultDraft(runId, sessionId, 'awaiting-input'),
    ]);
    await stopRun(services, runId);
    expect(asked).toEqual([[sessionId]]);
    const last = (await readAll(services.store, run)).at(-1);
    expect(last).toMatchObject({ type: 'run-result', data: { status: 'cancelled', unstopped } });
  },
);

const start: EventDraft = {
  type: 'run-started',
  step: 0,
  attempt: 0,
  data: {
    leg: 1,
    cause: 'submit',
    input: [{ content: [{ type: 'text', text: 'Go.' }] }],
    model: { provider: 'demo', model: 'demo' },
    limits: noBudgets,
    _config: { base: 'keeps', systemPrompt: null, instructions: null, disabledTools: [] },
  },
};

function withAdapter(services: Services, { endParked }: Required<Pick<HarnessAdapter, 'endParked'>>): Services {
  const native = services.harnesses.adapter('native');
  if (native === undefined) throw new Error('There is no engine.');
  return { ...services, harnesses: createRegistry([{ ...native, base: 'keeps', endParked }]) };
}
