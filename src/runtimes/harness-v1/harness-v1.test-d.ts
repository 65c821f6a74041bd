// P-118: what we give is an adapter of the pinned `@ai-sdk/harness`, and one that `fromHarnessV1` takes.

import type {
  HarnessV1,
  HarnessV1ContinueTurnOptions,
  HarnessV1PromptTurnOptions,
  HarnessV1StartOptions,
} from '@ai-sdk/harness';
import type { ContinueOptions, PromptOptions, ReinsHarnessV1, StartOptions } from './harness-v1.ts';
import type { fromHarnessV1 } from '../../index.ts';

export const asTheirs = (ours: ReinsHarnessV1): HarnessV1 => ours;
export const asTaken = (ours: ReinsHarnessV1): Parameters<typeof fromHarnessV1>[0] => ours;
export const takesStart = (options: HarnessV1StartOptions): StartOptions => options;
export const takesPrompt = (options: HarnessV1PromptTurnOptions): PromptOptions => options;
export const takesContinue = (options: HarnessV1ContinueTurnOptions): ContinueOptions => options;
