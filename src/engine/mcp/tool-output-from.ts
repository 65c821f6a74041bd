import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import type { ToolMedia, ToolOutput } from '../tool.ts';

/**
 * What the model reads of a `tools/call` result, whole: the engine cuts what is too long (E-550). Structured content
 * repeats the text where there is text, so it counts only where there is none.
 */
export function toolOutputFrom(result: JsonObject): ToolOutput {
  const { content = [], structuredContent = null, isError = false } = result;
  const blocks = Array.isArray(content) ? content.filter(isJsonObject) : [];
  const media = blocks.flatMap(mediaOf);
  const texts = blocks.flatMap(textOf);
  if (texts.length === 0 && structuredContent !== null) texts.push(JSON.stringify(structuredContent));
  if (texts.length + media.length === 0) texts.push('[The tool gave no output.]');
  return {
    content: texts.join('\n'),
    ...(media.length === 0 ? {} : { media }),
    ...(isError === true ? { isError } : {}),
  };
}

function textOf(block: JsonObject): string[] {
  const { type, text, resource = null, name, uri, description } = block;
  if (type === 'image' || type === 'audio') return [];
  if (type === 'text') return typeof text === 'string' ? [text] : [];
  if (type === 'resource_link') return [[name, uri, description].filter((part) => typeof part === 'string').join(' ')];
  if (type === 'resource')
    return isJsonObject(resource) && typeof resource['text'] === 'string' ? [resource['text']] : [];
  return [JSON.stringify(block)];
}

function mediaOf(block: JsonObject): ToolMedia[] {
  const { type, resource = null } = block;
  if (type === 'image' || type === 'audio') return decode(block['mimeType'], block['data']);
  return type === 'resource' && isJsonObject(resource) ? decode(resource['mimeType'], resource['blob']) : [];
}

function decode(mediaType: JsonValue = 'application/octet-stream', data: JsonValue = null): ToolMedia[] {
  if (typeof mediaType !== 'string' || typeof data !== 'string') return [];
  return [{ mediaType, data: Uint8Array.from(Buffer.from(data, 'base64')) }];
}
