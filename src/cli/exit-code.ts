import { verdictOf, type RunResultData, type Verdict } from '../core/outcome.ts';

/** 0 completed, 1 failed, 2 wrong use, 3 stopped by a budget, cut or refused, 4 waits for a person, 130 cancelled. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 130;

const codes: Readonly<Record<Verdict, ExitCode>> = {
  ok: 0,
  failed: 1,
  truncated: 3,
  refused: 3,
  limited: 3,
  unfinished: 3,
  'needs-input': 4,
  cancelled: 130,
  // A result that says "running" is no result.
  running: 1,
};

export function exitCodeOf(result: Pick<RunResultData, 'status' | 'stopReason'>): ExitCode {
  return codes[verdictOf(result)];
}
