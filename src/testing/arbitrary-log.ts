import * as fc from 'fast-check';
import type { RunEvent, ToolOutcome } from '../core/run-event.ts';
import type { Usage } from '../core/usage.ts';
import { createLogBuilder, type BlockScript, type Ending, type StepScript } from './log-builder.ts';

const piece = fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme' });
const pieces = fc.array(piece, { minLength: 1, maxLength: 6 });
const words: fc.Arbitrary<BlockScript> = fc.record({ kind: fc.constantFrom('text', 'thinking'), pieces });
const outcomes: readonly ToolOutcome[] = [
  'ok',
  'error',
  'timeout',
  'invalid',
  'denied',
  'answered',
  'unknown',
  'cancelled',
  'not-run',
];
const call = fc.record({
  kind: fc.constant('call' as const),
  id: fc.constant(''),
  pieces: fc
    .array(piece, { maxLength: 4 })
    .map((parts) => ['{"q":', ...parts.map((part) => JSON.stringify(part)), '}']),
  outcome: fc.constantFrom(...outcomes),
  content: fc.string({ maxLength: 40 }),
  output: fc.array(piece, { maxLength: 3 }),
});

/** Call ids are the model's own: unique in a reply, used again in later steps (UD-81). */
function named(blocks: readonly BlockScript[]): BlockScript[] {
  return blocks.map((block, index) => (block.kind === 'call' ? { ...block, id: `call_${index}` } : block));
}

const anyBlocks = fc.array(fc.oneof(words, words, call), { minLength: 1, maxLength: 4 }).map(named);
const abandoned = fc.array(
  fc.record({
    blocks: anyBlocks,
    shown: fc.nat(12),
    reason: fc.constantFrom('transient-error', 'stalled', 'incomplete', 'crash'),
  }),
  { maxLength: 3 },
);
const usage = fc.option(
  fc.record<Usage>({
    inputTokens: fc.option(fc.nat(1000)),
    outputTokens: fc.option(fc.nat(1000)),
    cacheReadInputTokens: fc.option(fc.nat(1000)),
    cacheCreationInputTokens: fc.constant(null),
    thinkingTokens: fc.constant(null),
  }),
);
const interleave = fc.boolean();
const workStep: fc.Arbitrary<StepScript> = fc.record({ abandoned, blocks: anyBlocks, interleave, usage });
const answer = fc.array(words, { minLength: 1, maxLength: 3 });

const wholeEndings: readonly Ending[] = [
  { status: 'completed', stopReason: 'end-turn' },
  { status: 'completed', stopReason: 'max-tokens' },
  { status: 'completed', stopReason: 'refusal' },
  { status: 'completed', stopReason: 'max-steps', budget: 'tool-rounds' },
];
const failure = { type: 'ProviderError', message: 'The provider failed.', retryable: false } as const;
const cutEndings: readonly Ending[] = [
  { status: 'cancelled', stopReason: 'cancelled' },
  { status: 'failed', stopReason: null, error: failure },
  { status: 'completed', stopReason: 'max-time', budget: 'time' },
];

const cut = fc.option(fc.record({ count: fc.nat(120), ending: fc.constantFrom(...cutEndings) }));

/**
 * Valid run logs, whole: several steps with thinking, text and parallel calls; attempts given up after any number of
 * deltas and tried again with fewer or more blocks; answers in pieces; refusals, cuts, budgets; failure and cancel at any
 * commit, with the events that close what was open. Every one passes `checkLog`.
 */
export const arbitraryLog: fc.Arbitrary<readonly RunEvent[]> = fc
  .record({
    work: fc.array(workStep, { maxLength: 3 }),
    last: fc.record({ abandoned, blocks: answer, interleave, usage }),
    ending: fc.constantFrom(...wholeEndings),
    cut,
  })
  .map(({ work, last, ending, cut: at }) => {
    const whole = createLogBuilder();
    whole.start();
    for (const step of work) whole.step(withFinish(step));
    whole.step({
      ...last,
      finishReason: ending.stopReason === 'max-steps' ? 'end-turn' : (ending.stopReason ?? 'other'),
    });
    const log = at === null ? whole : whole.cut(at.count);
    log.end(at === null ? ending : at.ending);
    return log.events;
  });

/** A reply in mid-run that calls nothing was cut at its limit and is continued (E-400). */
function withFinish(step: StepScript): StepScript {
  return step.blocks.some((block) => block.kind === 'call') ? step : { ...step, finishReason: 'max-tokens' };
}
