import type { EventData } from '../core/run-event.ts';
import type { StreamPart } from '../protocol/parts/stream-part.ts';

export function compactionPart(compacted: EventData['compacted']): StreamPart {
  const { trigger, summary = '', tokensBefore, tokensAfter } = compacted;
  return { type: 'compaction', trigger: trigger === 'manual' ? trigger : 'auto', summary, tokensBefore, tokensAfter };
}
