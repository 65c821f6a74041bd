// Runs in a worker thread and does one thing: test lines against the expression it was started with.

import { parentPort, workerData } from 'node:worker_threads';
import { head } from '../../core/text.ts';

export interface MatchRequest {
  readonly text: string;
  /** Most matches to give. */
  readonly most: number;
}

export interface LineMatch {
  /** From 1. */
  readonly line: number;
  /** Cut to a bounded length, without its line end. */
  readonly text: string;
}

const maxLineUnits = 500;
const expression: RegExp = workerData;

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.on('message', (request: MatchRequest) => parentPort?.postMessage(matchLines(request)));

function matchLines({ text, most }: MatchRequest): LineMatch[] {
  const matches: LineMatch[] = [];
  for (const [index, ended] of text.split('\n').entries()) {
    if (matches.length === most) break;
    const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended;
    if (expression.test(line)) matches.push({ line: index + 1, text: head(line, maxLineUnits) });
  }
  return matches;
}
