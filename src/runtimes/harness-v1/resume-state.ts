import { RuntimeStateError } from '../../core/errors.ts';
import { z } from 'zod';
import type { GivenState, TurnPlace } from './harness-v1.ts';

export const turnPlace = z.strictObject({ runId: z.string().nullable(), seq: z.int().min(0) });

/** @throws RuntimeStateError  It is of another kind, specification or harness, or no place (P-079). */
export function placeIn(
  state: GivenState,
  { type, harnessId }: { readonly type: 'continue-turn' | 'resume-session'; readonly harnessId: string },
): TurnPlace {
  if (state.type !== type) throw new RuntimeStateError(`This state is no '${type}'.`);
  if (state.specificationVersion !== 'harness-v1')
    throw new RuntimeStateError('This state is of another specification.');
  if (state.harnessId !== harnessId) throw new RuntimeStateError('This state is of another harness.');
  const place = turnPlace.safeParse(state.data).data;
  if (place === undefined) throw new RuntimeStateError('This state does not say where its turn stands.');
  return place;
}
