import { expect, test } from 'vitest';
import { createManualClock } from '../../testing/manual-clock.ts';
import { createProviderStanding } from './provider-standing.ts';
import type { RelayedCall } from './relayed-call.ts';

const call = (more: Partial<RelayedCall>): RelayedCall => ({
  provider: 'openai',
  request: 1,
  model: 'm',
  how: 'refused',
  failure: null,
  status: 200,
  usage: null,
  dollars: null,
  ...more,
});
const refused = (status: number, failure: RelayedCall['failure']) => call({ status, failure });
const minuteMs = 60_000;

function rig() {
  const clock = createManualClock();
  return { clock, standing: createProviderStanding(clock) };
}

test.each([
  [401, 'authentication', 'refused the configured credential', true],
  [402, 'quota', 'used up', true],
  [429, 'quota', 'used up', true],
  [403, 'authentication', 'refused the configured credential', false],
] as const)(
  'H-011: a %i (%s) speaks against the model for fifteen minutes, and says so',
  async (status, failure, words, ofAll) => {
    const { clock, standing } = rig();
    standing.hear(refused(status, failure));
    expect(standing.problem('openai', 'm')).toContain(words);
    expect(standing.problem('openai', 'm')).toContain(String(status));
    expect(standing.problem('openai', 'other') !== null).toBe(ofAll);
    expect(standing.problem('anthropic', 'm')).toBeNull();
    await clock.advance(15 * minuteMs - 1);
    expect(standing.problem('openai', 'm')).not.toBeNull();
    await clock.advance(1);
    expect(standing.problem('openai', 'm')).toBeNull();
  },
);

test('H-011: the next success brings it back, of another model where the key was refused', () => {
  const { standing } = rig();
  standing.hear(refused(401, 'authentication'));
  standing.hear(call({ how: 'whole', model: 'other' }));
  expect(standing.problem('openai', 'm')).toBeNull();
  standing.hear(refused(403, 'authentication'));
  standing.hear(call({ how: 'whole', model: 'other' }));
  expect(standing.problem('openai', 'm')).not.toBeNull();
  standing.hear(call({ how: 'whole' }));
  expect(standing.problem('openai', 'm')).toBeNull();
});

test('H-011: what the relay refused itself, what was cut or aborted, and a fault that may pass say nothing of a model', () => {
  const { standing } = rig();
  for (const each of [
    call({ status: null }),
    call({ how: 'cut' }),
    call({ how: 'aborted' }),
    refused(529, 'transient'),
    refused(404, 'final'),
  ])
    standing.hear(each);
  expect(standing.problem('openai', 'm')).toBeNull();
});
