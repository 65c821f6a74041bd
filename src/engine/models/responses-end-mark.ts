import type { Model } from '../model.ts';
import { mapParts } from './model-part.ts';

const ended = new Set(['stop', 'tool-calls', 'content-filter']);

/**
 * The Responses API names no finish reason when a response is completed; its package gives a raw one only for incomplete
 * responses. Here the end event's own name is that reason, so that a missing raw reason means a missing end everywhere
 * (E-306).
 */
export const withEndMark = (model: Model): Model =>
  mapParts(model, () => (part) => {
    if (part.type !== 'finish' || part.finishReason.raw !== undefined || !ended.has(part.finishReason.unified))
      return [part];
    return [{ ...part, finishReason: { ...part.finishReason, raw: 'completed' } }];
  });
