import { expect, test } from 'vitest';
import { FactOutlet } from './fact-outlet.ts';
import { silentLogger } from '../../core/logger.ts';
import { systemClock } from '../../system.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeFact } from './native-fact.ts';

function rig() {
  const warned: (JsonObject | undefined)[] = [];
  const overflows: string[] = [];
  const outlet = new FactOutlet({
    label: 'Stub',
    version: '1.2',
    clock: systemClock,
    logger: { ...silentLogger, warn: (_message, facts) => void warned.push(facts) },
    onOverflow: () => void overflows.push('stopped'),
  });
  return { outlet, warned, overflows };
}

const text = (key: string): NativeFact => ({ is: 'text', key, text: '.' });
const done: NativeFact = { is: 'ended', end: { as: 'completed' } };

test('O1, H-100: a turn has one end; what comes after it, and before the next, is dropped', async () => {
  const { outlet } = rig();
  const turn = outlet.open();
  outlet.tell([text('a'), done, text('b'), done]);
  expect([await turn.take(), await turn.take(), outlet.isAt(turn)]).toEqual([[text('a'), done], [], false]);
});

test('O2, U-112: what is missing and was said too early is told in the next turn', async () => {
  const { outlet } = rig();
  const missing: NativeFact = { is: 'degraded', what: 'mcp:dead' };
  outlet.tell([missing, text('a')]);
  const turn = outlet.open();
  outlet.tell([done]);
  expect(await turn.take()).toEqual([missing, done]);
});

test('O3, H-029: of each unknown kind the operator is warned once, with what it was; no turn ends by it', async () => {
  const { outlet, warned } = rig();
  const turn = outlet.open();
  for (const kind of ['new', 'new', 'newer']) outlet.tell([{ is: 'unknown', kind }], { type: kind });
  outlet.tell([done]);
  const of = { label: 'Stub', version: '1.2' };
  expect(warned).toEqual([
    { ...of, kind: 'new', raw: '{"type":"new"}' },
    { ...of, kind: 'newer', raw: '{"type":"newer"}' },
  ]);
  expect(await turn.take()).toEqual([done]);
});

test('O4, P-076, H-122: deltas that nobody takes are joined; what is still too much ends the turn and its program', async () => {
  const { outlet, overflows } = rig();
  const joined = outlet.open();
  for (let n = 0; n < 20_000; n++) outlet.tell([text('a')]);
  outlet.tell([done]);
  expect(await joined.take()).toEqual([{ is: 'text', key: 'a', text: '.'.repeat(20_000) }, done]);
  const flooded = outlet.open();
  for (let n = 0; n < 20_000; n++) outlet.tell([text(`${n}`)]);
  const facts = await flooded.take();
  expect([facts.length, facts.at(-1)]).toMatchObject([10_001, { end: { error: { type: 'AdapterOverflowError' } } }]);
  expect(overflows).toEqual(['stopped']);
});

test('O2, O3: a runtime that makes up names for ever fills nothing: a hundred of each are kept, and each once', async () => {
  const { outlet, warned } = rig();
  for (let n = 0; n < 1_000; n++) {
    outlet.tell([{ is: 'degraded', what: 'mcp:dead' }]);
    outlet.tell([
      { is: 'degraded', what: `mcp:${n}` },
      { is: 'unknown', kind: `${n}` },
    ]);
  }
  const turn = outlet.open();
  outlet.tell([done]);
  const facts = await turn.take();
  expect([facts.length, warned.length]).toEqual([101, 100]);
  expect(facts.filter((fact) => fact.is === 'degraded' && fact.what === 'mcp:dead')).toHaveLength(1);
});
