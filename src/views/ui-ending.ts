import { partReason } from './part-reasons.ts';
import type { JsonObject } from '../core/json.ts';
import type { RunResultData } from '../core/outcome.ts';
import type { UiChunk } from '../protocol/ui/chunk.ts';
import type { Usage } from '../core/usage.ts';

/** How a message ends with its run; null: it does not, the run waits. */
export function uiEndingOf(
  result: RunResultData,
): { readonly before: readonly UiChunk[]; readonly last: UiChunk } | null {
  const { status, stopReason, error } = result;
  const messageMetadata = spent(result);
  switch (status) {
    case 'completed': {
      const finishReason = partReason(stopReason, null).unified;
      return { before: [], last: { type: 'finish', finishReason, messageMetadata } };
    }
    case 'cancelled':
      return {
        before: [{ type: 'message-metadata', messageMetadata }],
        last: { type: 'abort', reason: 'The task was stopped.' },
      };
    case 'failed':
      return { before: [], last: { type: 'error', errorText: error?.message ?? 'The task failed.' } };
    case 'awaiting-input':
    case 'paused':
    case 'running':
      return null;
  }
}

function spent({ usage, model: { served, requested } }: RunResultData): JsonObject {
  return { model: (served ?? requested).model, ...(usage === null ? {} : { usage: usageOf(usage) }) };
}

/** What is known. */
function usageOf(usage: Usage): JsonObject {
  return Object.fromEntries(Object.entries(usage).filter(([, count]) => count !== null));
}
