import type { JsonValue } from '../core/json.ts';
import type { Tool } from '../engine/tool.ts';

/** A tool that takes a number and remembers the inputs it was run with, whatever it then does. */
export function countingTool(name: string, facts: Partial<Tool> = {}): Tool & { readonly runs: readonly JsonValue[] } {
  const runs: JsonValue[] = [];
  return {
    name,
    description: name,
    inputSchema: { type: 'object', properties: { n: { type: 'number' } }, additionalProperties: false },
    ...facts,
    async run(input, context) {
      runs.push(input);
      return facts.run === undefined ? { content: `${name} ran` } : facts.run(input, context);
    },
    runs,
  };
}
