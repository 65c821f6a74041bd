// What decides the next command of a run, small enough to be handed around between processes, and with nothing in it that a
// model or a person has written (E-872). Pure.
//
// O1. `decide` says of the outline what it says of the state (E-873).
// O2. It does not grow with the run: of many things that are asked about together one stands for all (E-879).

import type { Outline } from './decide.ts';
import { isOpen, type RunState } from '../core/run-state.ts';

export function outlineOf(state: RunState): Outline {
  const { limits, usage, budget, toolRounds, countedSteps, recoveries, open, last, config, todos, result } = state;
  return {
    limits,
    usage,
    budget,
    toolRounds,
    countedSteps,
    recoveries,
    recentCalls: renamed(state.recentCalls),
    open: open === null ? null : openOutline(open),
    last: last === null ? null : lastOutline(last),
    pending: state.pending
      .filter(isOpen)
      .slice(0, 1)
      .map(({ status }) => ({ status })),
    unread: state.unread.slice(0, 1).map(() => null),
    todos: (todos ?? [])
      .filter(({ status }) => status !== 'completed')
      .slice(0, 1)
      .map(({ status }) => ({ status })),
    config: config?.planning === undefined ? null : { planning: config.planning },
    result: result === null ? null : {},
  };
}

function openOutline(open: NonNullable<RunState['open']>): Outline['open'] {
  const { purpose, attempt, stage, finishReason, ranTools, usage, calls } = open;
  const unanswered = calls.find(({ progress }) => progress.at !== 'answered');
  const first = unanswered === undefined ? [] : [{ progress: { at: unanswered.progress.at } }];
  return { purpose, attempt, stage, finishReason, ranTools, usage, calls: first };
}

function lastOutline({ purpose, finishReason, text, calls, empty }: NonNullable<RunState['last']>): Outline['last'] {
  return { purpose, finishReason, text: text === '' ? '' : '…', calls, empty };
}

/** Fingerprints are only compared. */
function renamed(fingerprints: readonly string[]): readonly string[] {
  const names = new Map<string, string>();
  return fingerprints.map((fingerprint) => {
    const name = names.get(fingerprint) ?? String(names.size);
    names.set(fingerprint, name);
    return name;
  });
}
