// What providers refuse: a request in which a call has no output, two, or one where none is allowed. Each wire in its own words.

import type { JsonObject, JsonValue } from '../../src/core/json.ts';
import type { ModelServerProtocol, RecordedRequest } from '../../src/testing/model-servers/model-server.ts';
import type { Provider } from './provider.ts';
import type { ReplyScript, ScriptedReply } from '../../src/testing/model-servers/reply-script.ts';

/** Calls and their outputs in the order of the conversation. */
type Trace = readonly (readonly ['call' | 'output', string])[];

/** The script of a server that refuses such a request with status 400, and tells `onRefusal` why. */
export function strictly(
  { protocol }: Provider,
  answer: (request: RecordedRequest, index: number) => ScriptedReply,
  onRefusal: (why: string) => void,
): ReplyScript<RecordedRequest> {
  return (request, index) => {
    const why = faultIn(traceOf(protocol, request.body));
    if (why === null) return answer(request, index);
    onRefusal(`${why} in ${JSON.stringify(request.body)}`);
    return { fault: { kind: 'status', status: 400, type: 'invalid_request_error', message: why } };
  };
}

function faultIn(trace: Trace): string | null {
  const open = new Set<string>();
  for (const [kind, id] of trace) {
    if (kind === 'call' && open.has(id)) return `the call ${id} twice`;
    if (kind === 'call') open.add(id);
    else if (!open.delete(id)) return `an output too many for ${id}`;
  }
  return open.size === 0 ? null : `no output for ${[...open].join(', ')}`;
}

/** The text of the last thing that a user said, in whatever form. */
export function lastSaid(protocol: ModelServerProtocol, { body }: RecordedRequest): string {
  const said = turnsOf(protocol, body).findLast((turn) => turn['role'] === 'user' && textsOf(turn).length > 0);
  return said === undefined ? '' : textsOf(said).join('');
}

/** Outputs behind the last thing that a user said. */
export function outputsSince(protocol: ModelServerProtocol, { body }: RecordedRequest): number {
  const turns = turnsOf(protocol, body);
  const at = turns.findLastIndex((turn) => turn['role'] === 'user' && textsOf(turn).length > 0);
  return turns
    .slice(at)
    .flatMap((turn) => callsOf(protocol, turn))
    .filter(([kind]) => kind === 'output').length;
}

/** Outputs in the whole conversation. */
export function outputsIn(protocol: ModelServerProtocol, { body }: RecordedRequest): number {
  return traceOf(protocol, body).filter(([kind]) => kind === 'output').length;
}

function traceOf(protocol: ModelServerProtocol, body: JsonObject): Trace {
  return turnsOf(protocol, body).flatMap((turn) => callsOf(protocol, turn));
}

function turnsOf(protocol: ModelServerProtocol, body: JsonObject): readonly JsonObject[] {
  const name = { anthropic: 'messages', 'openai-chat': 'messages', 'openai-responses': 'input', google: 'contents' };
  return objects(body[name[protocol]]);
}

function textsOf(turn: JsonObject): readonly string[] {
  const content = turn['content'] ?? turn['parts'];
  if (typeof content === 'string') return [content];
  return objects(content).flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
}

function callsOf(protocol: ModelServerProtocol, turn: JsonObject): Trace {
  switch (protocol) {
    case 'anthropic':
      return objects(turn['content']).flatMap((block): Trace => {
        if (block['type'] === 'tool_use') return [['call', textOf(block['id'])]];
        return block['type'] === 'tool_result' ? [['output', textOf(block['tool_use_id'])]] : [];
      });
    case 'openai-responses':
      if (turn['type'] === 'function_call') return [['call', textOf(turn['call_id'])]];
      return turn['type'] === 'function_call_output' ? [['output', textOf(turn['call_id'])]] : [];
    case 'openai-chat':
      if (turn['role'] === 'tool') return [['output', textOf(turn['tool_call_id'])]];
      return objects(turn['tool_calls']).map(({ id }) => ['call', textOf(id)]);
    case 'google':
      // Google's calls have names only: what counts is that there are as many outputs of each.
      return objects(turn['parts']).flatMap((part): Trace => {
        const [call] = objects([part['functionCall'] ?? null]);
        const [output] = objects([part['functionResponse'] ?? null]);
        if (call !== undefined) return [['call', textOf(call['id'] ?? call['name'])]];
        return output === undefined ? [] : [['output', textOf(output['id'] ?? output['name'])]];
      });
  }
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function objects(value: JsonValue | undefined): readonly JsonObject[] {
  const list: readonly JsonValue[] = Array.isArray(value) ? value : [];
  return list.filter((each): each is JsonObject => typeof each === 'object' && each !== null && !Array.isArray(each));
}
