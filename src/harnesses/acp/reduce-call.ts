// Tool calls. The protocol tells a call in pieces: at first its title, later its arguments, its output with everything that
// came before, and its end; of what it tells before anybody was asked, only the arguments are believed (H-041).

import { acceptIfWhole, acceptReply, withReply } from './reduce-reply.ts';
import { objectOf, objectsOf, textOf } from '../foreign/fields.ts';
import { contentText } from './content-text.ts';
import { pathsOf, type NamedPaths } from '../foreign/named-paths.ts';
import type { AcpDialect } from './acp-profile.ts';
import type { AcpState, CallSeen, Permission, Reduced } from './acp-state.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';
import type { NativeCall, NativeFact, UseKind } from '../foreign/native-fact.ts';

/** `tool_call` and `tool_call_update`. */
export function reduceCall(state: AcpState, update: JsonObject, dialect: AcpDialect): Reduced {
  const id = textOf(update['toolCallId']);
  const status = textOf(update['status']);
  const isEnd = status === 'completed' || status === 'failed';
  const known = state.calls[id];
  if (id === '' || (known === undefined && isEnd && dialect.inputOf(update) === undefined)) return [state, []];
  const [told, facts] = tellCall(state, update, { dialect, isWhole: status !== 'pending' && status !== '' });
  const call = told.calls[id];
  if (call === undefined) return [told, facts];
  const { [id]: waiting, ...held } = told.held;
  if (waiting !== undefined && call.input !== undefined) {
    const [asked, gate] = reducePermission({ ...told, held }, waiting, dialect);
    return [asked, [...facts, ...gate]];
  }
  const output = contentText(update['content']) || textOf(objectOf(update['rawOutput'])['output']);
  const more: NativeFact[] = [];
  if (status === 'in_progress' && !dialect.asksAlways && !call.isRunning)
    more.push({ is: 'call-running', call: nativeCall(id, call) });
  // What came before is told again.
  const news = output.startsWith(call.output) ? output.slice(call.output.length) : '';
  if (status === 'in_progress' && news !== '') more.push({ is: 'call-output', id, text: news });
  if (isEnd) {
    const outcome = status === 'failed' || dialect.isFailure(update) ? 'error' : 'ok';
    more.push({ is: 'call-ended', id, outcome, content: output });
  }
  const seen = {
    ...call,
    isRunning: status === 'in_progress',
    isOver: isEnd,
    output: output === '' ? call.output : output,
  };
  return [{ ...told, calls: { ...told.calls, [id]: seen } }, [...facts, ...more]];
}

/** `session/request_permission`. */
export function reducePermission(state: AcpState, permission: Permission, dialect: AcpDialect): Reduced {
  const { request, call: given, bySubAgent } = permission;
  const id = textOf(given['toolCallId']) || request;
  const use = useKindOf(textOf(given['kind']));
  const rest = { ...(use === undefined ? {} : { useKind: use }), ...pathsIn(given, state.calls[id]?.input) };
  if (bySubAgent) {
    const call = { id, name: dialect.nameOf(given), input: dialect.inputOf(given) ?? {} };
    return [state, [{ is: 'gate', request, call, ...rest, bySubAgent }]];
  }
  if (dialect.asksWithLess && state.calls[id]?.input === undefined)
    return [{ ...state, held: { ...state.held, [id]: permission } }, []];
  const [told, facts] = tellCall(state, { ...given, toolCallId: id }, { dialect, isWhole: true });
  const call = told.calls[id];
  if (call === undefined) return [told, facts];
  return [told, [...facts, { is: 'gate', request, call: nativeCall(id, call), ...rest }]];
}

/** Where the call works, what it shows of changes, and what its arguments say. */
function pathsIn(call: JsonObject, told: JsonValue | undefined): NamedPaths {
  const inputs = [call['rawInput'], told].map(objectOf);
  return pathsOf([
    ...objectsOf(call['locations']).map(({ path }) => path),
    ...objectsOf(call['content']).map(({ path }) => path),
    ...inputs.flatMap((input) => ['path', 'file_path', 'filePath'].map((name) => input[name])),
  ]);
}

/** The call with what is new of it, in the present reply. */
function tellCall(
  state: AcpState,
  update: JsonObject,
  { dialect, isWhole }: { readonly dialect: AcpDialect; readonly isWhole: boolean },
): Reduced {
  const id = textOf(update['toolCallId']);
  const known = state.calls[id];
  if (known?.input !== undefined) return [state, []];
  const [begun, facts] = known === undefined ? withReply(state) : ([state, []] as const);
  const name = known?.name ?? dialect.nameOf(update);
  const input = dialect.inputOf(update) ?? (isWhole ? {} : undefined);
  const call: CallSeen = { output: '', isRunning: false, isOver: false, isNew: true, ...known, name, input };
  const next = { ...begun, calls: { ...begun.calls, [id]: call } };
  const begins: readonly NativeFact[] = known === undefined ? [{ is: 'call-begun', id, name }] : [];
  if (input === undefined) return [next, [...facts, ...begins]];
  const [accepted, after] = dialect.callsFollowReply ? acceptReply(next, 'tool-use') : acceptIfWhole(next);
  return [accepted, [...facts, ...begins, { is: 'call-whole', call: { id, name, input } }, ...after]];
}

const nativeCall = (id: string, { name, input = {} }: CallSeen): NativeCall => ({ id, name, input });

function useKindOf(kind: string): UseKind | undefined {
  switch (kind) {
    case 'read':
    case 'search':
      return 'readonly';
    case 'edit':
    case 'delete':
    case 'move':
      return 'edit';
    case 'execute':
      return 'execute';
    case 'fetch':
      return 'network';
    default:
      return undefined;
  }
}
