// What Codex says, in the words that all runtimes share. Pure: no clock, no I/O; total over whatever comes. Where replies begin
// and end is in `replies.ts`.
//
// C1. A call that was asked about is not asked about again: a second request for it would run it without the sandbox.
// C2. What is said of another turn or thread is dropped; `ended` is said once a turn.

import { callOf, commandIn, endOf, filesOf, pathsIn } from './tool-items.ts';
import { askedMcpName, kindOf, questionsIn } from './requests.ts';
import {
  accept,
  addCall,
  countTokens,
  during,
  faultOf,
  lose,
  reduceRelay,
  served,
  type CodexState,
  type Step,
} from './replies.ts';
import { countOf, listOf, objectOf, objectsOf, textOf, wordOf } from '../foreign/fields.ts';
import { cutReply } from './read-error.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeEnd, NativeFact, UseKind } from '../foreign/native-fact.ts';
import type { RelayFact } from '../foreign/runtime.ts';

export type CodexNative =
  | { readonly from: 'codex'; readonly method: string; readonly params: JsonObject }
  /** `id` is ours to answer with. */
  | { readonly from: 'request'; readonly id: string; readonly method: string; readonly params: JsonObject }
  | { readonly from: 'relay'; readonly fact: RelayFact };

export function reduceCodex(state: CodexState, native: CodexNative): Step {
  if (native.from === 'relay') return reduceRelay(state, native.fact);
  const { method, params } = native;
  const thread = wordOf(params['threadId']);
  if (thread !== null && thread !== state.thread) return [state, []];
  if (native.from === 'request') return ask(state, native);
  const turn = wordOf(params['turnId']);
  // The usage so far is told on resuming, under the turn that told it last.
  if (turn !== null && turn !== state.turn && method !== 'thread/tokenUsage/updated') return [state, []];
  return notify(state, method, params);
}

function notify(state: CodexState, method: string, params: JsonObject): Step {
  switch (method) {
    case 'turn/started':
      return [
        { ...state, turn: wordOf(objectOf(params['turn'])['id']), reply: 'none', calls: [], gated: [] },
        [{ is: 'progress' }],
      ];
    case 'turn/completed':
      return endTurn(state, objectOf(params['turn']));
    case 'item/started':
      return startItem(state, objectOf(params['item']));
    case 'item/completed':
      return endItem(state, objectOf(params['item']));
    case 'item/agentMessage/delta':
      return during(state, [{ is: 'text', key: keyOf(params), text: deltaOf(params) }]);
    case 'item/reasoning/summaryTextDelta':
      return during(state, [
        { is: 'thinking', key: partKey(keyOf(params), countOf(params['summaryIndex'])), text: deltaOf(params) },
      ]);
    case 'item/reasoning/textDelta':
      return during(state, [{ is: 'thinking', key: `${keyOf(params)}:raw`, text: deltaOf(params) }]);
    case 'item/commandExecution/outputDelta':
      return [state, [{ is: 'call-output', id: keyOf(params), text: deltaOf(params) }]];
    case 'thread/tokenUsage/updated':
      return countTokens(state, objectOf(params['tokenUsage']));
    case 'error':
      return params['willRetry'] === true ? lose(state, objectOf(params['error'])) : [state, []];
    case 'turn/plan/updated':
      return [state, [{ is: 'todos', todos: objectsOf(params['plan']).map(todoOf) }]];
    case 'model/rerouted':
      return [state, served(wordOf(params['toModel']))];
    case 'mcpServer/startupStatus/updated':
      return [state, params['status'] === 'failed' ? [{ is: 'degraded', what: `mcp:${wordOf(params['name'])}` }] : []];
    case 'serverRequest/resolved':
      return [state, [{ is: 'gate-closed', request: JSON.stringify(params['requestId'] ?? null) }]];
    default:
      return [state, asides.test(method) ? [] : [{ is: 'unknown', kind: method }]];
  }
}

/** Known, and nothing to a run. */
const asides =
  /^(account|app|remoteControl|project|fs|skills|hook)\/|^thread\/(started|status|readState|settings|name|goal|closed|queue|environment)|^item\/(reasoning\/summaryPartAdded|fileChange|mcpToolCall\/progress|plan|commandExecution\/terminalInteraction)|^turn\/(diff|moderation)|^thread\/compacted$|^(warning|configWarning|guardianWarning|deprecationNotice|error)$|^model\/(verification|safetyBuffering)/;

function startItem(state: CodexState, item: JsonObject): Step {
  switch (textOf(item['type'])) {
    case 'userMessage':
      // Steered while it speaks, Codex drops the reply and asks anew (H-403).
      return state.reply === 'open' && state.calls.length === 0
        ? [{ ...state, reply: 'none' }, [{ is: 'reply-lost', reason: 'steered', retryInMs: 0 }]]
        : [state, []];
    case 'agentMessage':
    case 'reasoning':
      return during(state, []);
    case 'contextCompaction':
      return [{ ...state, tokensBefore: state.contextTokens }, [{ is: 'progress' }]];
    default: {
      const call = callOf(item);
      if (call !== null) return addCall(state, call);
      const type = textOf(item['type']);
      return [state, silent.has(type) ? [] : [{ is: 'unknown', kind: `item:${type}` }]];
    }
  }
}

/** Items that say nothing more than what is told of them elsewhere. */
const silent = new Set(['plan', 'hookPrompt', 'functionCallOutput', 'sleep']);

function endItem(state: CodexState, item: JsonObject): Step {
  const id = textOf(item['id']);
  switch (textOf(item['type'])) {
    case 'agentMessage':
      return during(state, [{ is: 'text-whole', key: id, text: textOf(item['text']) }]);
    case 'reasoning': {
      const summary = listOf(item['summary']).map(String);
      return during(
        state,
        summary.map((text, index) => ({ is: 'thinking-whole', key: partKey(id, index), text })),
      );
    }
    case 'contextCompaction': {
      const { tokensBefore, contextTokens: tokensAfter } = state;
      return [state, [{ is: 'compacted', tokensBefore, tokensAfter }]];
    }
    default: {
      const call = callOf(item);
      if (call === null) return [state, []];
      const [next, facts] = addCall(state, call);
      return [next, [...facts, endOf(item, id), ...filesOf(item, state.workspace)]];
    }
  }
}

function endTurn(state: CodexState, turn: JsonObject): Step {
  if (state.turn === null || wordOf(turn['id']) !== state.turn) return [state, []];
  const end = endOfTurn(state, turn);
  const [over, facts] = end.as === 'completed' && state.reply === 'open' ? accept(state, null) : [state, []];
  return [{ ...over, turn: null, reply: 'none', calls: [] }, [...facts, { is: 'ended', end }]];
}

function endOfTurn(state: CodexState, turn: JsonObject): NativeEnd {
  switch (textOf(turn['status'])) {
    case 'completed':
      return { as: 'completed' };
    case 'interrupted':
      return { as: 'interrupted' };
    default: {
      const error = objectOf(turn['error']);
      const stopReason = cutReply(error);
      return stopReason === null ? { as: 'failed', error: faultOf(state, error) } : { as: 'completed', stopReason };
    }
  }
}

function ask(state: CodexState, { id: request, method, params }: Extract<CodexNative, { from: 'request' }>): Step {
  const kind = kindOf(method, params);
  const call = kind === null ? null : askedCall(state, kind, params);
  if (kind === null || call === null || state.turn === null || state.gated.includes(call.id)) return [state, []];
  const [added, facts] = addCall(state, call);
  const fact: NativeFact =
    kind === 'questions'
      ? { is: 'question', request, call, questions: questionsIn(params) }
      : { is: 'gate', request, call, ...useKindOf(call.name), ...pathsIn(call) };
  const next = { ...added, gated: [...added.gated, call.id] };
  return [next, [...facts, fact]];
}

function askedCall(state: CodexState, kind: NonNullable<ReturnType<typeof kindOf>>, params: JsonObject) {
  const id = textOf(params['itemId']);
  const announced = state.calls.find((call) => call.id === id);
  switch (kind) {
    case 'command': {
      // What is typed into a command that runs is asked about under an id of its own.
      const typed = wordOf(params['approvalId']);
      if (typed !== null) return { id: typed, name: 'write_stdin', input: toPlain(params) };
      return announced ?? { id, ...commandIn(params) };
    }
    case 'patch':
      return announced ?? { id, name: 'apply_patch', input: {} };
    case 'mcp-call': {
      const name = askedMcpName(params);
      const input = objectOf(params['_meta'])['tool_params'] ?? {};
      const announcedCalls = state.calls.filter((call) => call.name === name);
      if (announcedCalls.length === 0) return { id: name, name, input };
      return announcedCalls.find((call) => !state.gated.includes(call.id)) ?? null;
    }
    case 'questions':
      return { id, name: 'request_user_input', input: { questions: listOf(params['questions']) } };
    case 'form':
    case 'permissions':
    case 'host-tool':
      return null;
  }
}

const keyOf = (params: JsonObject): string => textOf(params['itemId']);
const partKey = (id: string, index: number): string => `${id}:${index}`;
const deltaOf = (params: JsonObject): string => textOf(params['delta']);

function todoOf({ step, status }: JsonObject) {
  const known = status === 'completed' ? status : status === 'inProgress' ? 'in_progress' : 'pending';
  return { content: typeof step === 'string' ? step : '', status: known } as const;
}

function useKindOf(name: string): { readonly useKind?: UseKind } {
  if (name === 'apply_patch') return { useKind: 'edit' };
  return name === 'exec_command' || name === 'write_stdin' ? { useKind: 'execute' } : {};
}

/** What is typed, without what only names this session. */
function toPlain({ threadId: _thread, turnId: _turn, approvalId: _approval, startedAtMs: _at, ...rest }: JsonObject) {
  return rest;
}
