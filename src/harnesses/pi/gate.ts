import { isJsonObject, parsedOrText, type JsonObject } from '../../core/json.ts';
import { namedPaths } from '../foreign/named-paths.ts';
import type { GateWord } from '../foreign/runtime.ts';
import type { NativeFact, UseKind } from '../foreign/native-fact.ts';

/** Title of what our extension says over the extension channel. */
export const gateTitle = 'reins:gate';

/**
 * The extension that asks before each call (H-501), as Pi loads it: plain JavaScript in a file of the session's home. It says
 * that it is there as soon as the session starts. A handler that throws blocks the call, by Pi's own rule.
 * With the turn's signal an interrupt ends the question as well.
 */
export const gateSource = `export default function (pi) {
  pi.on('session_start', (_event, ctx) => ctx.ui.notify('${gateTitle}'));
  pi.on('tool_call', async (event, ctx) => {
    const { toolCallId: id, toolName: name, input, parentToolCallId: parent } = event;
    const call = JSON.stringify({ id, name, input, parent });
    const answer = await ctx.ui.input('${gateTitle}', call, { signal: ctx.signal });
    const { allow, note } = answer === undefined ? {} : JSON.parse(answer);
    return allow === true ? undefined : { block: true, reason: note ?? 'Not run: cancelled.' };
  });
}
`;

export const isGateNotice = ({ type, method, message }: JsonObject): boolean =>
  type === 'extension_ui_request' && method === 'notify' && message === gateTitle;

type Gate = Extract<NativeFact, { is: 'gate' }>;

/** What the extension asks; null: this is no question of it. */
export function gateOf({ id: request, method, title, placeholder }: JsonObject): Gate | null {
  if (method !== 'input' || title !== gateTitle || typeof placeholder !== 'string') return null;
  const asked = parsedOrText(placeholder);
  if (!isJsonObject(asked) || typeof request !== 'string') return null;
  const { id, name, input = null, parent } = asked;
  if (typeof id !== 'string' || typeof name !== 'string') return null;
  return {
    is: 'gate',
    request,
    call: { id, name, input },
    ...useKindOf(name),
    ...namedPaths(input, ['path']),
    // Made by another tool, such as a script: no reply of the model has it.
    ...(parent === undefined ? {} : { bySubAgent: true }),
  };
}

export function gateAnswer(request: string, word: GateWord): JsonObject {
  const answer = (value: JsonObject) => ({
    type: 'extension_ui_response',
    id: request,
    value: JSON.stringify(value),
  });
  switch (word.say) {
    case 'allow':
      return answer({ allow: true });
    case 'deny':
      return answer({ allow: false, note: word.note });
    case 'answers':
    case 'cancelled':
      return { type: 'extension_ui_response', id: request, cancelled: true };
  }
}

const useKinds: Readonly<Record<string, UseKind>> = {
  read: 'readonly',
  grep: 'readonly',
  find: 'readonly',
  ls: 'readonly',
  edit: 'edit',
  write: 'edit',
  bash: 'execute',
  powershell: 'execute',
};

/** Absent for tools that are not Pi's own, such as those of MCP servers. */
function useKindOf(tool: string): { readonly useKind?: UseKind } {
  const useKind = Object.hasOwn(useKinds, tool) ? useKinds[tool] : undefined;
  return useKind === undefined ? {} : { useKind };
}
