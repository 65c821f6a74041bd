import { askUserQuestions } from '../../engine/tools/ask-user.ts';
import { createReadToolResult } from '../../engine/tools/read-tool-result.ts';
import { createTodoTools } from '../../engine/tools/todos.ts';
import { delegateTool } from '../sub-agents.ts';
import { hostQuestionsTool } from './host-questions.ts';
import type { AnySchema, BuiltinTool } from './harness-v1.ts';
import type { AssembledAgent } from '../assembled-agent.ts';
import type { JsonObject } from '../../core/json.ts';
import type { UseKind } from '../../engine/tool.ts';

/** What is known of an agent's tools before it runs. */
export function builtinToolsOf({ config, engine, subagents }: AssembledAgent): Readonly<Record<string, BuiltinTool>> {
  const tools = [
    ...engine.tools,
    ...(config.planning ? createTodoTools(() => []) : []),
    ...subagents.map(({ name, description }) => ({ name: delegateTool(name), description, inputSchema: anyObject })),
    ...(config.questions ? [{ ...askUserQuestions, name: hostQuestionsTool, inputSchema: anyObject }] : []),
    createReadToolResult(async () => null),
  ];
  return Object.fromEntries(
    tools.filter(({ name }) => !config.disabledTools.includes(name)).map((tool) => [tool.name, toBuiltin(tool)]),
  );
}

const anyObject: JsonObject = { type: 'object' };

interface Described {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly useKind?: UseKind;
}

function toBuiltin({ description, inputSchema, useKind }: Described): BuiltinTool {
  const schema = schemaOf(inputSchema);
  if (useKind === undefined || useKind === 'network') return { description, inputSchema: schema };
  return { description, inputSchema: schema, toolUseKind: useKind === 'execute' ? 'bash' : useKind };
}

function schemaOf(schema: JsonObject): AnySchema {
  const json = () => ({ ...schema });
  return {
    '~standard': {
      version: 1,
      vendor: 'reins',
      validate: (value) => ({ value }),
      jsonSchema: { input: json, output: json },
    },
  };
}
