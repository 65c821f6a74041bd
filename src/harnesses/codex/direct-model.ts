// The newest models of Codex are told to write programs that call the tools. What a program calls comes while its own call
// runs: it belongs to no reply, so no reply could be taken for whole before its calls run, and no round counted. No feature
// switches that off, only the model's entry in the catalogue that Codex brings.

import { isJsonObject, parsedOrText, type JsonObject, type JsonValue } from '../../core/json.ts';
import { objectsOf, textOf, wordOf } from '../foreign/fields.ts';

/**
 * The entry of a model that would write programs, changed so that it calls each tool itself. Null: it does so anyway, or
 * Codex does not know it. @param printed  By `codex debug models --bundled`.
 */
export function directModel(printed: string, model: string): JsonObject | null {
  const entry = entryOf(catalogueIn(printed), model);
  if (entry === null || wordOf(entry['tool_mode'])?.startsWith('code_mode') !== true) return null;
  return {
    ...withoutPrograms(entry),
    tool_mode: 'direct',
    // Otherwise it makes one call a reply, and has to search for the tools of MCP servers.
    use_responses_lite: false,
    supports_search_tool: false,
    // Messages and questions beside the reply, which nobody would hear.
    experimental_supported_tools: [],
  };
}

function catalogueIn(printed: string): readonly JsonObject[] {
  // Warnings stand around it.
  const json = parsedOrText(printed.split('\n').find((line) => line.startsWith('{')) ?? '');
  return isJsonObject(json) ? objectsOf(json['models']) : [];
}

/** As Codex looks it up: by the longest name that the model's begins with, whatever stands before a slash. */
function entryOf(models: readonly JsonObject[], model: string): JsonObject | null {
  const name = model.slice(model.lastIndexOf('/') + 1);
  const length = (entry: JsonObject) => textOf(entry['slug']).length;
  const fitting = models.filter((entry) => length(entry) > 0 && name.startsWith(textOf(entry['slug'])));
  return fitting.toSorted((a, b) => length(b) - length(a))[0] ?? null;
}

/** Tools as programs name them, and those that are taken from it here. */
const ofPrograms = /\b(functions|clock)\.\w|\bALL_TOOLS\b/;

/** Lines of its instructions that tell of such tools are left out. */
function withoutPrograms(entry: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entry).map(([name, value]) => [name, withoutLines(value)]));
}

function withoutLines(value: JsonValue): JsonValue {
  if (typeof value === 'string')
    return value
      .split('\n')
      .filter((line) => !ofPrograms.test(line))
      .join('\n');
  if (Array.isArray(value)) return value.map(withoutLines);
  return isJsonObject(value) ? withoutPrograms(value) : value;
}
