import { isJsonObject, type JsonValue } from '../../core/json.ts';
import { head } from '../../core/text.ts';
import { objectSchema } from './file-tool.ts';
import type { Tool } from '../tool.ts';

/** A whole answer, so that a page is never itself too long for the run's limit and cut again (E-550). */
const maxAnswerUnits = 12_000;
const noteUnits = 120;
const defaultUnits = 8000;

/**
 * Pages through a result that was too long for the model (E-550). Offsets and limits are UTF-16 units, as in the note that
 * stands in the cut result; pages fall between code points, and following their notes gives the whole text.
 * @param find  The whole text of a call's result, or null when this conversation has none under the id.
 */
export function createReadToolResult(find: (callId: string) => Promise<string | null>): Tool {
  return {
    name: 'read_tool_result',
    description:
      'Reads more of a tool result that was shown with its middle left out: from character offset (default 0) as many characters as limit says (default 8000).',
    inputSchema: objectSchema(
      {
        id: { type: 'string', description: 'Id of the call, as the note in the cut result names it.' },
        offset: { type: 'integer', minimum: 0 },
        limit: { type: 'integer', minimum: 1 },
      },
      ['id'],
    ),
    useKind: 'readonly',
    replay: 'safe',
    async run(input) {
      const { id, offset = 0, limit = defaultUnits } = isJsonObject(input) ? input : {};
      if (typeof id !== 'string' || !isCount(offset) || !isCount(limit))
        return { content: "'id' must be text, 'offset' and 'limit' whole numbers.", isError: true };
      const text = await find(id);
      if (text === null)
        return { content: `There is no kept result with the id ${JSON.stringify(head(id, 100))}.`, isError: true };
      if (offset > 0 && offset >= text.length)
        return { content: `The result has ${text.length} characters; there is nothing at ${offset}.`, isError: true };
      return { content: pageOf(text, offset, Math.min(limit, maxAnswerUnits - noteUnits)) };
    },
  };
}

function isCount(value: JsonValue): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function pageOf(text: string, offset: number, units: number): string {
  const from = isInsidePair(text, offset) ? offset - 1 : offset;
  // At least one whole code point, or following the notes would stand still.
  const page = head(text.slice(from, from + units + 1), units) || text.slice(from, from + 2);
  const end = from + page.length;
  const left = text.length - end;
  const rest = left === 0 ? 'This is the end.' : `${left} are left; go on with offset ${end}.`;
  return `${page}\n[Characters ${from} to ${end} of ${text.length}. ${rest}]`;
}

function isInsidePair(text: string, offset: number): boolean {
  return offset > 0 && (text.codePointAt(offset - 1) ?? 0) > 0xffff;
}
