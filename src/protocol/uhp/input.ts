// The `input` of a task (U-210, UD-42 to UD-44). Served now: text, and text files given inline. Nothing is dropped in
// silence: dropping content would change the task (UD-43).
//
// An assistant item is earlier conversation that the client kept itself. The engine's input is the user's side only, so it
// is carried as a user message that says whose words they are.

import { InvalidInputError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { head } from '../../core/text.ts';
import { userText } from '../../core/user-text.ts';
import type { UserMessage, UserPart } from '../../core/run-event.ts';

export interface Input {
  readonly messages: readonly UserMessage[];
  /** Texts of system and developer items, in order. */
  readonly instructions: readonly string[];
  readonly items: readonly JsonValue[];
}

const allRoles = ['user', 'assistant', 'system', 'developer'] as const;
type Role = (typeof allRoles)[number];

const maxItems = 1000;
const maxParts = 1000;

/** @param roles  Those that an item may have. @throws InvalidInputError  With the path of the first item or part at fault. */
export function parseInput(input: JsonValue, roles: readonly Role[] = allRoles): Input {
  const items = toItems(input);
  const parsed = items.map((item, index) => parseItem(item, roles, `input[${index}]`));
  if (!parsed.some(({ role, content }) => role === 'user' && content.some(isGiven))) {
    throw new InvalidInputError('input must hold a user message that says what to do.', 'input');
  }
  const instructions = parsed.filter(({ role }) => role === 'system' || role === 'developer');
  return {
    messages: parsed.flatMap(toMessage),
    instructions: instructions.map(({ content }) => userText(content)),
    items,
  };
}

function isGiven(part: UserPart): boolean {
  return part.type === 'media' || part.text !== '';
}

function toItems(input: JsonValue): readonly JsonValue[] {
  if (typeof input === 'string') {
    return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
  }
  if (input === null) throw new InvalidInputError('input is required: a string or a list of items.', 'input');
  if (!Array.isArray(input)) throw new InvalidInputError('input must be a string or a list of items.', 'input');
  if (input.length > maxItems) throw new InvalidInputError(`input may hold at most ${maxItems} items.`, 'input');
  return input;
}

interface ParsedItem {
  readonly role: Role;
  readonly content: readonly UserPart[];
}

function parseItem(item: JsonValue, roles: readonly Role[], path: string): ParsedItem {
  if (!isJsonObject(item)) throw new InvalidInputError(`${path} must be an object with role and content.`, path);
  const type = item['type'] ?? 'message';
  if (type !== 'message') {
    throw new InvalidInputError(`${path}.type must be "message"; other items are not served.`, `${path}.type`);
  }
  const role = parseRole(item['role'] ?? null, roles, `${path}.role`);
  const content = item['content'] ?? null;
  if (typeof content === 'string') return { role, content: [{ type: 'text', text: content }] };
  if (!Array.isArray(content)) {
    throw new InvalidInputError(`${path}.content must be a string or a list of parts.`, `${path}.content`);
  }
  if (content.length > maxParts) {
    throw new InvalidInputError(`${path}.content may hold at most ${maxParts} parts.`, `${path}.content`);
  }
  const parts: readonly JsonValue[] = content;
  return { role, content: parts.map((part, index) => parsePart(part, role, `${path}.content[${index}]`)) };
}

function parseRole(role: JsonValue, roles: readonly Role[], path: string): Role {
  const known = roles.find((name) => name === role);
  if (known !== undefined) return known;
  throw new InvalidInputError(`${path} must be ${roles.join(' or ')}.`, path);
}

function parsePart(part: JsonValue, role: Role, path: string): UserPart {
  if (!isJsonObject(part)) throw new InvalidInputError(`${path} must be an object with a type.`, path);
  const { type } = part;
  if (type === 'input_text' || (type === 'output_text' && role === 'assistant')) {
    if (typeof part['text'] === 'string') return { type: 'text', text: part['text'] };
    throw new InvalidInputError(`${path}.text must be a string.`, `${path}.text`);
  }
  if (type === 'input_file' && role === 'user') return parseFile(part, path);
  if (type === 'input_image') {
    throw new InvalidInputError('Images are not served by this server yet.', `${path}.type`);
  }
  throw new InvalidInputError(`${path}.type is not a part that ${role} content may hold.`, `${path}.type`);
}

const dataUrl = /^data:([^;,]+)(?:;[^;,]+)*;base64,/i;
const textType = /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|.+\+(?:json|xml)))$/;

function parseFile(part: JsonObject, path: string): UserPart {
  if ((part['file_id'] ?? null) !== null) {
    throw new InvalidInputError('Uploaded files are not served by this server yet.', `${path}.file_id`);
  }
  const data = part['file_data'];
  const prefix = typeof data === 'string' ? dataUrl.exec(head(data, 1000)) : null;
  if (typeof data !== 'string' || prefix === null) {
    throw new InvalidInputError(`${path}.file_data must be a base64 data URL.`, `${path}.file_data`);
  }
  const mediaType = (prefix[1] ?? '').toLowerCase();
  if (!textType.test(mediaType)) {
    throw new InvalidInputError('Only text files are served by this server yet.', `${path}.file_data`);
  }
  const text = decodeText(data.slice(prefix[0].length));
  if (text === null) {
    throw new InvalidInputError(`${path}.file_data must be UTF-8 text in base64.`, `${path}.file_data`);
  }
  return { type: 'file', filename: parseFilename(part['filename'] ?? null, `${path}.filename`), mediaType, text };
}

function decodeText(base64: string): string | null {
  try {
    const bytes = Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function parseFilename(filename: JsonValue, path: string): string {
  if (filename === null || filename === '') return 'attachment.txt';
  if (typeof filename !== 'string') throw new InvalidInputError(`${path} must be a string.`, path);
  return head(filename.replace(/\p{Cc}/gu, ' '), 255);
}

function toMessage({ role, content }: ParsedItem): readonly UserMessage[] {
  if (role === 'user') return [{ content }];
  if (role !== 'assistant') return [];
  return [{ content: [{ type: 'text', text: `Your earlier answer in this conversation:\n${userText(content)}` }] }];
}
