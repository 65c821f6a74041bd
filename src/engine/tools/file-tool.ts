import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import type { Tool, ToolContext, ToolOutput } from '../tool.ts';
import { explainFileError, ToolRefusal } from './tool-refusal.ts';

/** UTF-16 units of one answer; the engine cuts further (E-550). */
export const maxAnswerUnits = 100_000;

/** The arguments of a call, read by name. A wrong type is a refusal: the schema check may have been left out. */
interface ToolInput {
  text(name: string): string;
  optionalText(name: string): string | undefined;
  optionalCount(name: string): number | undefined;
  isSet(name: string): boolean;
}

export interface FileToolDefinition extends Omit<Tool, 'run'> {
  run(input: ToolInput, context: ToolContext): Promise<ToolOutput>;
}

/** A tool whose refusals and file system errors become error results (E-514, E-534, E-571). */
export function fileTool(definition: FileToolDefinition): Tool {
  return {
    ...definition,
    async run(value, context) {
      context.signal.throwIfAborted();
      const input = readInput(value);
      try {
        return await definition.run(input, context);
      } catch (error) {
        context.signal.throwIfAborted();
        const sentence = explainFileError(error, pathOf(value));
        if (sentence === undefined) throw error;
        return { content: sentence, isError: true };
      }
    },
  };
}

/** The schema of an object with these properties and no others. */
export function objectSchema(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

function pathOf(value: JsonValue): string {
  const path = isJsonObject(value) ? value['path'] : undefined;
  return typeof path === 'string' ? path : '.';
}

function readInput(value: JsonValue): ToolInput {
  const fields = isJsonObject(value) ? value : {};
  const optionalText = (name: string) => {
    const field = fields[name] ?? undefined;
    if (field === undefined || typeof field === 'string') return field;
    throw new ToolRefusal(`The argument '${name}' must be text.`);
  };
  return {
    optionalText,
    text(name) {
      const text = optionalText(name);
      if (text === undefined) throw new ToolRefusal(`The argument '${name}' is missing.`);
      return text;
    },
    optionalCount(name) {
      const field = fields[name] ?? undefined;
      if (field === undefined) return undefined;
      if (typeof field === 'number' && Number.isSafeInteger(field) && field >= 0) return field;
      throw new ToolRefusal(`The argument '${name}' must be a whole number, 0 or more.`);
    },
    isSet: (name) => fields[name] === true,
  };
}
