import { directoryOf, stripText } from './strip-text.ts';
import type { PartJson } from './part-json.ts';
import type { StreamPart } from './stream-part.ts';

/**
 * The part as people read it: paths below the working directory without it, in the input and result of tools and in file
 * changes (P-041). Only for display: what is stored, approved or run keeps its paths.
 */
export function stripWorkDir(part: StreamPart, dir: string): StreamPart {
  const directory = directoryOf(dir);
  if (directory === '') return part;
  const strip = (text: string) => stripText(text, { dir: directory, before: '', final: true }).output;
  switch (part.type) {
    case 'tool-input-delta':
      return { ...part, delta: strip(part.delta) };
    case 'tool-call':
      return { ...part, input: strip(part.input) };
    case 'tool-result':
      return { ...part, result: mapTexts(part.result, strip) };
    case 'file-change':
      return { ...part, path: strip(part.path) };
    case 'stream-start':
    case 'text-start':
    case 'text-delta':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-delta':
    case 'reasoning-end':
    case 'tool-input-start':
    case 'tool-input-end':
    case 'tool-approval-request':
    case 'finish-step':
    case 'finish':
    case 'compaction':
    case 'error':
    case 'raw':
      return part;
  }
}

/** Every text inside, keys excepted; layer by layer, so that no depth is too deep. */
function mapTexts(value: PartJson, change: (text: string) => string): PartJson {
  const root: { value: PartJson } = { value };
  const copies: object[] = [root];
  for (const copy of copies)
    for (const [key, member] of Object.entries<PartJson>({ ...copy })) {
      if (typeof member === 'string') Reflect.set(copy, key, change(member));
      else if (typeof member === 'object' && member !== null) {
        const below = copyOf(member);
        Reflect.set(copy, key, below);
        copies.push(below);
      }
    }
  return root.value;
}

function copyOf(value: Extract<PartJson, object>): PartJson & object {
  return isArray(value) ? [...value] : { ...value };
}

/** `Array.isArray` knows nothing of read-only ones. */
function isArray(value: Extract<PartJson, object>): value is readonly PartJson[] {
  return Array.isArray(value);
}
