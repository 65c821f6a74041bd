import { parsedOrText } from '../core/json.ts';
import { z } from 'zod';
import type { WhyNotStored } from './blob-store.ts';

/** Stands where a state of a working directory would, which one machine alone has: none is to be taken for it. */
export interface NotStored {
  readonly notStored: WhyNotStored;
  /** Tells it from what another machine would say: that a mark names it says who has the directory. */
  readonly of: string;
}

const schema = z.object({ notStored: z.enum(['too-large', 'not-whole', 'changing', 'failed']), of: z.string() });

/** Null: it is something else. */
export function parseNotStored(text: string | null): NotStored | null {
  return text === null ? null : (schema.safeParse(parsedOrText(text)).data ?? null);
}

export function notStoredText(said: NotStored): string {
  return JSON.stringify(said);
}
