// P-118: our parts are those of the pinned `@ai-sdk/harness`, member by member. A changed pin fails to compile.

import type { HarnessV1StreamPart } from '@ai-sdk/harness';
import type { PartOf, StreamPart, StreamPartType } from './index.ts';

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- How the checker is made to compare for identity.
type Equal<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
type Pairs = { [T in Exact]: [Flat<PartOf<T>>, Flat<Theirs<T>>] };
type Theirs<T> = Extract<HarnessV1StreamPart, { type: T }>;
type Flat<T> = { [K in keyof T]: T[K] };
/** The one difference: null is a result (P-009). */
type Exact = Exclude<StreamPartType, 'tool-result'>;

export const sameTypes: Equal<StreamPartType, HarnessV1StreamPart['type']> = true;
export const sameParts: { [T in Exact]: Equal<Pairs[T][0], Pairs[T][1]> } = {
  'stream-start': true,
  'text-start': true,
  'text-delta': true,
  'text-end': true,
  'reasoning-start': true,
  'reasoning-delta': true,
  'reasoning-end': true,
  'tool-input-start': true,
  'tool-input-delta': true,
  'tool-input-end': true,
  'tool-call': true,
  'tool-approval-request': true,
  'finish-step': true,
  finish: true,
  'file-change': true,
  compaction: true,
  error: true,
  raw: true,
};
type NonNullResult = PartOf<Exact> | (PartOf<'tool-result'> & { result: NonNullable<PartOf<'tool-result'>['result']> });
export const theirsIsOurs = (part: HarnessV1StreamPart): StreamPart => part;
export const oursIsTheirs = (part: NonNullResult): HarnessV1StreamPart => part;
