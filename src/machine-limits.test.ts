import { expect, test } from 'vitest';
import { loadConfig } from './config.ts';
import { poolBounds, thisMachine, treeLimits } from './machine-limits.ts';

const gibibyte = 1024 ** 3;
const settingsOf = (harnesses: object) =>
  loadConfig({ env: {}, readFile: () => JSON.stringify({ harnesses }) }).harnesses;

test.for([
  ['a large machine', { memoryBytes: 64 * gibibyte, cores: 16 }, 128],
  ['a machine with few cores', { memoryBytes: 64 * gibibyte, cores: 2 }, 32],
  ['a machine with little memory', { memoryBytes: 4 * gibibyte, cores: 8 }, 8],
  ['the smallest', { memoryBytes: gibibyte / 2, cores: 1 }, 4],
] as const)('without settings, %s is asked for as many processes as it carries', ([, machine, max]) => {
  expect(poolBounds(settingsOf({}), machine)).toMatchObject({ max, maxParked: max / 2 });
  expect(treeLimits(settingsOf({}), machine).memoryBytes).toBe(machine.memoryBytes / 2);
});

test('what is set holds; one place is never kept from those who wait', () => {
  const machine = thisMachine();
  expect(machine.memoryBytes).toBeGreaterThan(0);
  const set = settingsOf({ maxProcesses: 3, maxParked: 2, memoryBytes: 1_000, niceness: 0 });
  expect(poolBounds(set, machine)).toMatchObject({ max: 3, maxParked: 2 });
  expect(poolBounds(settingsOf({ maxParked: 9 }), { memoryBytes: gibibyte / 2, cores: 1 })).toMatchObject({
    maxParked: 3,
  });
  expect(treeLimits(set, machine)).toMatchObject({ memoryBytes: 1_000, niceness: 0 });
});
