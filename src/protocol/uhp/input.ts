// The `input` of a task (U-210, UD-42 to UD-44): text, files and images, inline or by id. Nothing is dropped in silence:
// dropping content would change the task (UD-43). What a file is to a task is decided where it is taken in.
//
// An assistant item is earlier conversation that the client kept itself. The engine's input is the user's side only, so it
// is carried as a user message that says whose words they are.

import { InvalidInputError } from '../../core/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { head } from '../../core/text.ts';
import { userText } from '../../core/user-text.ts';
import { isInputFile, type InputFile, type InputMessage, type InputPart } from '../../core/input-file.ts';

export interface Input {
  readonly messages: readonly InputMessage[];
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
    instructions: instructions.map(({ content }) => wordsOf(content)),
    items,
  };
}

function isGiven(part: InputPart): boolean {
  return part.type !== 'text' || part.text !== '';
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
  readonly content: readonly InputPart[];
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

function parsePart(part: JsonValue, role: Role, path: string): InputPart {
  if (!isJsonObject(part)) throw new InvalidInputError(`${path} must be an object with a type.`, path);
  const { type } = part;
  if (type === 'input_text' || (type === 'output_text' && role === 'assistant')) {
    if (typeof part['text'] === 'string') return { type: 'text', text: part['text'] };
    throw new InvalidInputError(`${path}.text must be a string.`, `${path}.text`);
  }
  if (type === 'input_file' && role === 'user') return parseFile(part, path, 'file_data');
  if (type === 'input_image' && role === 'user') return parseFile(part, path, imageKey(part));
  throw new InvalidInputError(`${path}.type is not a part that ${role} content may hold.`, `${path}.type`);
}

const dataUrl = /^data:([^;,]*)(?:;[^;,]+)*;base64,/i;

function imageKey(part: JsonObject): 'image_url' | 'file_data' {
  return (part['image_url'] ?? null) === null ? 'file_data' : 'image_url';
}

function parseFile(part: JsonObject, path: string, key: 'file_data' | 'image_url'): InputFile {
  const filename = parseFilename(part['filename'] ?? null, `${path}.filename`);
  const fileId = part['file_id'] ?? null;
  if (fileId !== null) {
    if (typeof fileId === 'string') return { type: 'named-file', fileId, filename, param: path };
    throw new InvalidInputError(`${path}.file_id must be a string.`, `${path}.file_id`);
  }
  // An address of the client's is never fetched: it would be asked from inside our network.
  if ((part['file_url'] ?? null) !== null)
    throw new InvalidInputError(`${path}.file_url is not fetched; give file_data or file_id.`, `${path}.file_url`);
  const data = part[key];
  const param = `${path}.${key}`;
  const prefix = typeof data === 'string' ? dataUrl.exec(head(data, 1000)) : null;
  if (typeof data !== 'string' || prefix === null) {
    throw new InvalidInputError(`${param} must be a base64 data URL; give other files by file_id.`, param);
  }
  const bytes = decodeBase64(data.slice(prefix[0].length));
  if (bytes === null) throw new InvalidInputError(`${param} is not valid base64.`, param);
  return { type: 'given-file', filename, mediaType: (prefix[1] ?? '').toLowerCase(), bytes, param: path };
}

function decodeBase64(base64: string): Uint8Array | null {
  try {
    const units = atob(base64);
    const bytes = new Uint8Array(units.length);
    // `Uint8Array.from` takes 15 times as long, and nobody else is served meanwhile.
    for (let index = 0; index < units.length; index++) bytes[index] = units.charCodeAt(index);
    return bytes;
  } catch {
    return null;
  }
}

function parseFilename(filename: JsonValue, path: string): string | null {
  if (filename === null || filename === '') return null;
  if (typeof filename !== 'string') throw new InvalidInputError(`${path} must be a string.`, path);
  return head(filename, 1000);
}

function toMessage({ role, content }: ParsedItem): readonly InputMessage[] {
  if (role === 'user') return [{ content }];
  if (role !== 'assistant') return [];
  return [{ content: [{ type: 'text', text: `Your earlier answer in this conversation:\n${wordsOf(content)}` }] }];
}

function wordsOf(content: readonly InputPart[]): string {
  return userText(content.filter((part) => !isInputFile(part)));
}
