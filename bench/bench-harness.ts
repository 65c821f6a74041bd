// A harness that costs next to nothing: what is measured is Reins. Its deltas take turns between two blocks of one reply,
// which is legal (E-103) and keeps the log from merging them: each counts as one event from end to end. What arises at once
// is one group, as with the events that a harness reads from one piece of a provider's answer.

import { applyDrafts, closeRun } from '../src/core/closing.ts';
import type { EventDraft, ReplyPart } from '../src/core/run-event.ts';
import type { RunState } from '../src/core/run-state.ts';
import type { Capabilities, HarnessAdapter, HarnessSession } from '../src/harnesses/harness.ts';
import type { Arrivals } from './arrivals.ts';
import { deltaText, parseTaskShape, type TaskShape } from './task-shape.ts';

const model = { provider: 'bench', model: 'bench' };
const place = { step: 1, attempt: 1 };

export interface BenchHarnessOptions {
  readonly arrivals: Arrivals;
  /** Called before each event of a task. */
  readonly onEvent: (index: number) => void;
}

export function createBenchHarness(options: BenchHarnessOptions): HarnessAdapter {
  return {
    base: 'bench',
    label: 'Bench',
    probe: async () => ({
      installed: true,
      version: null,
      problem: null,
      models: [{ id: 'bench', label: 'Bench', available: true, why: 'It is always there.' }],
      defaultModel: 'bench',
      capabilities,
    }),
    chooseModel: async () => ({ available: true, id: 'bench', ref: model }),
    openSession: async (): Promise<HarnessSession> => ({
      prompt: (state, { signal }) => runTurn(state, signal, options),
      async [Symbol.asyncDispose]() {},
    }),
  };
}

async function* runTurn(
  state: RunState,
  signal: AbortSignal,
  { arrivals, onEvent }: BenchHarnessOptions,
): AsyncGenerator<readonly EventDraft[]> {
  const shape = shapeOf(state);
  const started: EventDraft = { type: 'step-started', step: 1, attempt: 0, data: stepData };
  yield [started];
  if (shape.kind === 'hold') {
    yield [delta(0, deltaText(shape))];
    await aborted(signal);
    return;
  }
  const blocks: [string[], string[]] = [[], []];
  let group: EventDraft[] = [];
  for (let index = 0; index < shape.events; index++) {
    const wait = arrivals.before(shape, index);
    if (wait !== undefined) {
      yield group;
      group = [];
      await wait;
    }
    onEvent(index);
    const text = deltaText(shape);
    const block = index % 2 === 0 ? 0 : 1;
    blocks[block].push(text);
    group.push(delta(block, text));
  }
  yield group;
  yield endOfTurn(applyDrafts(state, [started], Date.now()), [blocks[0].join(''), blocks[1].join('')]);
}

function shapeOf({ transcript }: RunState): TaskShape {
  const first = transcript.messages[0];
  const part = first?.role === 'user' ? first.content[0] : undefined;
  return parseTaskShape(part?.type === 'text' ? part.text : '{}');
}

const stepData = { purpose: 'reply', model, replyBudget: null } as const;

function delta(block: number, text: string): EventDraft {
  return { type: 'text-delta', step: 1, attempt: 1, block, data: text };
}

function endOfTurn(state: RunState, [first, second]: readonly [string, string]): readonly EventDraft[] {
  const text = first + second;
  const parts: ReplyPart[] = [
    { block: 0, kind: 'text', start: 0, end: first.length },
    { block: 1, kind: 'text', start: first.length, end: text.length },
  ];
  const turn = { finishReason: 'end-turn', rawFinishReason: null, calls: [], usage: null, served: model } as const;
  const accepted: EventDraft[] = [
    { type: 'text-complete', ...place, data: text },
    { type: 'turn-complete', ...place, data: { ...turn, usageIncomplete: false, parts } },
  ];
  const nowMs = Date.now();
  const closed = closeRun(applyDrafts(state, accepted, nowMs), { status: 'completed', stopReason: 'end-turn' }, nowMs);
  return [...accepted, ...closed];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

const capabilities: Capabilities = {
  text: 'stream',
  thinking: 'none',
  toolInput: 'whole',
  approvals: 'none',
  questions: 'no',
  steer: 'none',
  cancel: 'in-band',
  resume: 'none',
  disabledTools: 'instruction',
  maxStep: 'none',
  usage: 'at-end',
  denial: 'goes-on',
  tree: 'proven',
  fork: 'no',
  compact: 'no',
  hostTools: 'no',
  mcp: [],
  skills: 'none',
  servedModel: 'told',
  resets: 'told',
  sandbox: 'none',
};
