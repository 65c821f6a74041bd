import { expect, test } from 'vitest';
import type { RunStatus, StopReason } from '../core/outcome.ts';
import { exitCodeOf } from './exit-code.ts';

test.each<[RunStatus, StopReason | null, number]>([
  ['completed', 'end-turn', 0],
  ['completed', null, 0],
  ['failed', null, 1],
  ['running', null, 1],
  ['completed', 'max-tokens', 3],
  ['completed', 'refusal', 3],
  ['completed', 'safety', 3],
  ['completed', 'max-steps', 3],
  ['completed', 'max-time', 3],
  ['completed', 'loop', 3],
  ['completed', 'empty-reply', 3],
  ['awaiting-input', null, 4],
  ['paused', null, 4],
  ['cancelled', 'cancelled', 130],
])('E-060: a run that is %s by %s ends the process with %i', (status, stopReason, code) => {
  expect(exitCodeOf({ status, stopReason })).toBe(code);
});
