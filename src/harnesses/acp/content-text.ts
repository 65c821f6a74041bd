import { objectOf, objectsOf, textOf } from '../foreign/fields.ts';
import type { JsonValue } from '../../core/json.ts';

/** The texts of content blocks, of a message or of a tool call, joined. */
export const contentText = (content: JsonValue | undefined): string =>
  objectsOf(content)
    .map((each) => textOf((each['type'] === 'content' ? objectOf(each['content']) : each)['text']))
    .join('');
