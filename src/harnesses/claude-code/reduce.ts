// What a turn of Claude Code means, in the words that all runtimes share. Pure: no clock, no I/O (H-002).
//
// R1. A turn ends once: after its result, when the program says that it idles, and not while a message of ours is on its way
//     to it, which it would answer in a turn of its own (H-051). An interrupted one ends with its result.
// R2. What a sub-agent says is no text of the run; its calls are judged, and its usage counts (H-028).
// R3. What the program says in the model's or the user's place is not theirs (H-025).

import { addUsage, type Usage } from '../../core/usage.ts';
import { askReply, noReply, reduceBlock, reduceStream, type ReplyState } from './reduce-reply.ts';
import { changeTasks, todosFact, type Task } from './task-list.ts';
import { gateFact } from './gate-fact.ts';
import { countOf, listOf, numberOf, objectOf, plainText, textOf, wordOf } from '../foreign/fields.ts';
import { providerError, unreachedError } from '../foreign/provider-error.ts';
import { reduceResult, type HeardFaults } from './reduce-result.ts';
import { usedBeyond } from './count-usage.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeCall, NativeEnd, NativeFact } from '../foreign/native-fact.ts';
import type { NativeMessage } from './native-message.ts';
import type { RelayFact } from '../foreign/runtime.ts';
import type { ToolOutcome } from '../../core/run-event.ts';

export interface TurnState {
  readonly reply: ReplyState;
  /** Calls without a result. */
  readonly calls: readonly NativeCall[];
  readonly tasks: readonly Task[];
  readonly faults: HeardFaults;
  readonly usage: {
    /** By the relay, of all calls. */
    readonly seen: Usage | null;
    readonly told: Usage | null;
    /** A sub-agent was at work since the last reply. */
    readonly bySubAgent: boolean;
    /** What it used, until a reply has told of it. */
    readonly extra: Usage | null;
  };
  /** Messages that it has not acknowledged. */
  readonly sent: readonly string[];
  readonly acknowledges: boolean;
  readonly tellsIdle: boolean;
  readonly end: NativeEnd | null;
  readonly ended: boolean;
}

type Reduced = readonly [TurnState, readonly NativeFact[]];

const progress: readonly NativeFact[] = [{ is: 'progress' }];
const noFaults: HeardFaults = { kind: null, provider: null };

/** @param tasks  As an earlier turn of the session left them. */
export function beginTurn(tasks: readonly Task[] = []): TurnState {
  return {
    reply: noReply,
    calls: [],
    tasks,
    faults: noFaults,
    usage: { seen: null, told: null, bySubAgent: false, extra: null },
    sent: [],
    acknowledges: false,
    tellsIdle: false,
    end: null,
    ended: false,
  };
}

export function reduce(state: TurnState, native: NativeMessage): Reduced {
  if (state.ended) return [state, []];
  switch (native.from) {
    case 'us':
      return [{ ...state, sent: [...state.sent, native.sent] }, []];
    case 'relay':
      return reduceRelay(state, native.fact);
    case 'program':
      return reduceProgram(state, native.message);
  }
}

function reduceProgram(state: TurnState, message: JsonObject): Reduced {
  const type = textOf(message['type']);
  if (typeof message['parent_tool_use_id'] === 'string')
    return [{ ...state, usage: { ...state.usage, bySubAgent: true } }, progress];
  switch (type) {
    case 'stream_event':
      return ofReply(state, reduceStream(state.reply, objectOf(message['event'])));
    case 'assistant':
      return reduceAssistant(state, message);
    case 'user':
      return reduceUser(state, message);
    case 'system':
      return reduceSystem(state, message);
    case 'result': {
      const end = reduceResult(message, state.faults);
      const next = { ...state, end, faults: noFaults };
      return end.as === 'interrupted' || !state.tellsIdle ? endTurn(next) : [next, progress];
    }
    case 'control_request':
      return [state, [gateFact(textOf(message['request_id']), objectOf(message['request']))]];
    case 'control_cancel_request':
      return [state, [{ is: 'gate-closed', request: textOf(message['request_id']) }]];
    case 'command_lifecycle': {
      const sent = state.sent.filter((id) => id !== message['command_uuid']);
      return [{ ...state, sent, acknowledges: true }, progress];
    }
    case 'tool_use_summary':
      return [state, progress];
    // By a timer, whatever the tool does.
    case 'tool_progress':
    case 'rate_limit_event':
    case 'keep_alive':
      return [state, [{ is: 'alive' }]];
    default:
      return [state, [{ is: 'unknown', kind: type }]];
  }
}

/** Takes over what a reply says; its usage counts what sub-agents used before it (R2). */
function ofReply(state: TurnState, [reply, said]: readonly [ReplyState, readonly NativeFact[]]): Reduced {
  const calls = said.flatMap((fact) => (fact.is === 'call-whole' ? [fact.call] : []));
  const next = { ...state, reply, calls: calls.length === 0 ? state.calls : [...state.calls, ...calls] };
  const { seen, told, bySubAgent, extra } = state.usage;
  // Now all earlier calls have been told of by the relay, and this one has not.
  if (bySubAgent && said.some((fact) => fact.is === 'reply-begun'))
    return [{ ...next, usage: { seen, told, bySubAgent: false, extra: usedBeyond(seen, told) } }, said];
  const accepted = said.find((fact) => fact.is === 'reply-accepted');
  if (accepted === undefined) return [next, said];
  const usage = addUsage(accepted.usage, extra);
  const facts = said.map((fact) => (fact === accepted ? { ...accepted, usage } : fact));
  return [{ ...next, usage: { seen, told: addUsage(told, usage), bySubAgent, extra: null } }, facts];
}

function reduceAssistant(state: TurnState, { message, error }: JsonObject): Reduced {
  const said = objectOf(message);
  if (said['model'] !== '<synthetic>') return ofReply(state, reduceBlock(state.reply, said));
  return [{ ...state, faults: { ...state.faults, kind: wordOf(error) } }, progress]; // R3
}

function reduceUser(state: TurnState, { message, isSynthetic, isReplay, ...rest }: JsonObject): Reduced {
  const content = objectOf(message)['content'];
  let next = state;
  const facts: NativeFact[] = [];
  for (const each of listOf(content)) {
    const part = objectOf(each);
    if (part['type'] !== 'tool_result') continue;
    const [more, said] = endCall(next, part, rest);
    next = more;
    facts.push(...said);
  }
  const text = plainText(typeof content === 'string' ? content : listOf(content).filter(isText));
  if (isSynthetic === true && isReplay !== true && text !== '' && !text.startsWith('[Request interrupted'))
    facts.push({ is: 'engine-said', text, purpose: 'runtime' });
  return [next, facts.length === 0 ? progress : facts];
}

const isText = (part: JsonObject[string]) => objectOf(part)['type'] === 'text';

function endCall(state: TurnState, part: JsonObject, { tool_result_meta, tool_use_result }: JsonObject): Reduced {
  const id = textOf(part['tool_use_id']);
  const call = state.calls.find((each) => each.id === id);
  const isError = part['is_error'] === true;
  const meta =
    listOf(tool_result_meta)
      .map(objectOf)
      .find((each) => each['id'] === id) ?? {};
  const ended = {
    is: 'call-ended',
    id,
    outcome: outcomeOf(meta, isError),
    content: plainText(part['content']),
  } as const;
  const tasks = call === undefined || isError ? null : changeTasks(state.tasks, call, objectOf(tool_use_result));
  const next = { ...state, calls: state.calls.filter((each) => each.id !== id), tasks: tasks ?? state.tasks };
  return [next, tasks === null ? [ended] : [ended, todosFact(tasks)]];
}

/** What was decided on a call stands beside its result; of one that could not be tried, nothing does. */
function outcomeOf(meta: JsonObject, isError: boolean): ToolOutcome {
  if (meta['non_execution_kind'] === 'user-rejected') return 'cancelled';
  const { decision } = objectOf(meta['permission_decision']);
  if (decision === 'reject') return 'denied';
  if (!isError) return 'ok';
  return decision === undefined ? 'invalid' : 'error';
}

function reduceSystem(state: TurnState, message: JsonObject): Reduced {
  const subtype = textOf(message['subtype']);
  switch (subtype) {
    case 'init': {
      const dead = listOf(message['mcp_servers'])
        .map(objectOf)
        .filter(({ status }) => status === 'failed');
      const facts = dead.map(({ name }): NativeFact => ({ is: 'degraded', what: `mcp:${wordOf(name)}` }));
      return [state, facts.length === 0 ? progress : facts];
    }
    case 'status':
      // While calls run it is a sub-agent's.
      if (message['status'] !== 'requesting' || state.calls.length > 0) return [state, [{ is: 'alive' }]];
      return ofReply(state, askReply(state.reply));
    case 'session_state_changed': {
      const next = { ...state, tellsIdle: true };
      const waits = state.acknowledges && state.sent.length > 0;
      return message['state'] === 'idle' && state.end !== null && !waits ? endTurn(next) : [next, progress];
    }
    case 'api_retry': {
      const [status, type] = [numberOf(message['error_status']), wordOf(message['error'])];
      const told = { status, type: type === 'unknown' ? null : type, message: '' };
      const error = unreachedError(state.faults.provider?.message ?? '') ?? providerError(told);
      const reason = status === null ? 'incomplete' : 'transient-error';
      const retryInMs = numberOf(message['retry_delay_ms']) ?? 0;
      return [{ ...state, reply: noReply }, [{ is: 'reply-lost', reason, retryInMs, error }]];
    }
    case 'compact_boundary': {
      const { pre_tokens, post_tokens } = objectOf(message['compact_metadata']);
      const [tokensBefore, tokensAfter] = [countOf(pre_tokens), countOf(post_tokens)];
      return [state, [{ is: 'compacted', tokensBefore, tokensAfter }]];
    }
    default:
      return [state, quiet.test(subtype) ? progress : [{ is: 'unknown', kind: `system/${subtype}` }]];
  }
}

const quiet =
  /^(task_\w+|hook_\w+|thinking_tokens|background_tasks_changed|permission_denied|model_refusal_\w+|commands_changed|files_persisted|informational|notification|local_command_output|memory_recall)$/;

function reduceRelay(state: TurnState, fact: RelayFact): Reduced {
  switch (fact.at) {
    case 'usage':
      return [{ ...state, usage: { ...state.usage, seen: addUsage(state.usage.seen, fact.usage) } }, []];
    case 'answered': {
      const { request, status } = fact;
      // What goes on beside it, such as a sub-agent, does not mend a call that has failed.
      if (status < 400 && request < (state.faults.provider?.request ?? 0)) return [state, []];
      const provider = status < 400 ? null : { request, status, type: null, message: '' };
      return [{ ...state, faults: { ...state.faults, provider } }, []];
    }
    case 'ended': {
      if (fact.error === null) return [state, []];
      const { request } = fact;
      const known = state.faults.provider;
      const provider = { ...fact.error, request, status: known?.request === request ? known.status : null };
      return [{ ...state, faults: { ...state.faults, provider } }, []];
    }
    case 'byte':
      return [state, progress];
    case 'asked':
    case 'served':
      return [state, []];
  }
}

function endTurn(state: TurnState): Reduced {
  return [{ ...state, ended: true }, state.end === null ? [] : [{ is: 'ended', end: state.end }]];
}
