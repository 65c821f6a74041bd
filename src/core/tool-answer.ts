import type { ContentRef, MediaRef } from './run-event.ts';
import { isJsonObject, type JsonValue } from './json.ts';

/** What a model reads of a result, and what it can page to. */
export interface ToolAnswerContent {
  readonly content: string;
  readonly spill?: ContentRef;
  readonly media?: readonly MediaRef[];
}

/**
 * The raw result as it is logged: plain text; where it was too long or came with media, the text that the model reads beside
 * references to the whole (E-105, E-550). So an answer can be made again from the log alone.
 */
export function rawAnswer(answer: ToolAnswerContent): JsonValue {
  if (answer.spill === undefined && answer.media === undefined) return answer.content;
  const { content, spill, media } = answer;
  return {
    content,
    ...(spill === undefined ? {} : { spill: { ...spill } }),
    ...(media === undefined ? {} : { media: media.map((each) => ({ ...each })) }),
  };
}

/** The answer that a logged raw result stands for. */
export function toolAnswer(raw: JsonValue): ToolAnswerContent {
  if (typeof raw === 'string') return { content: raw };
  if (!isJsonObject(raw) || typeof raw['content'] !== 'string') return { content: JSON.stringify(raw) };
  const { content, spill, media } = raw;
  return {
    content,
    ...(isContentRef(spill) ? { spill } : {}),
    ...(Array.isArray(media) ? { media: media.filter(isMediaRef) } : {}),
  };
}

function isContentRef(value: JsonValue | undefined): value is JsonValue & ContentRef {
  return isJsonObject(value) && typeof value['ref'] === 'string' && typeof value['bytes'] === 'number';
}

function isMediaRef(value: JsonValue): value is JsonValue & MediaRef {
  return isContentRef(value) && isJsonObject(value) && typeof value['mediaType'] === 'string';
}
