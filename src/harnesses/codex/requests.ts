// What Codex asks us, and what we may say to it (H-400, H-044). Whatever is not granted by an answer of our own is refused.

import { mcpName } from './tool-items.ts';
import { objectOf, objectsOf, textOf, wordOf } from '../foreign/fields.ts';
import type { GateWord } from '../foreign/runtime.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Question } from '../../core/questions.ts';

export type RequestKind = 'command' | 'patch' | 'mcp-call' | 'questions' | 'form' | 'permissions' | 'host-tool';

/** Null: nothing that is known here. */
export function kindOf(method: string, params: JsonObject): RequestKind | null {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return 'command';
    case 'item/fileChange/requestApproval':
      return 'patch';
    case 'item/tool/requestUserInput':
      return 'questions';
    case 'mcpServer/elicitation/request':
      // Calls of MCP tools are asked about in the form of a question of their server.
      return objectOf(params['_meta'])['codex_approval_kind'] === 'mcp_tool_call' ? 'mcp-call' : 'form';
    case 'item/permissions/requestApproval':
      return 'permissions';
    case 'item/tool/call':
      return 'host-tool';
    default:
      return null;
  }
}

export function answerTo(kind: RequestKind, word: GateWord): JsonObject {
  switch (kind) {
    case 'command':
    case 'patch':
      if (word.say === 'allow') return { decision: 'accept' };
      // 'cancel' ends the turn as well: after 'decline' the model would be asked once more before the interrupt.
      return { decision: word.say === 'cancelled' ? 'cancel' : 'decline' };
    case 'mcp-call':
      if (word.say === 'allow') return { action: 'accept', content: {}, _meta: null };
      return { action: word.say === 'cancelled' ? 'cancel' : 'decline', content: null, _meta: null };
    case 'questions': {
      const answers = word.say === 'answers' ? (word.answers ?? []) : [];
      return { answers: Object.fromEntries(answers.map(({ id, texts }) => [id, { answers: texts }])) };
    }
    case 'form':
      return { action: 'decline', content: null, _meta: null };
    case 'permissions':
      return { permissions: {}, scope: 'turn' };
    case 'host-tool':
      return { contentItems: [{ type: 'inputText', text: 'There is no such tool.' }], success: false };
  }
}

export function askedMcpName(params: JsonObject): string {
  return mcpName(wordOf(params['serverName']), wordOf(objectOf(params['_meta'])['tool_name']));
}

export function questionsIn(params: JsonObject): readonly Question[] {
  return objectsOf(params['questions']).map((each): Question => {
    const options = objectsOf(each['options']).flatMap((option) => wordOf(option['label']) ?? []);
    return {
      id: textOf(each['id']),
      question: textOf(each['question']),
      ...(options.length === 0 ? {} : { options, allowFreeForm: each['isOther'] === true }),
    };
  });
}
