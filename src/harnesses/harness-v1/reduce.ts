// The parts of a turn in the words that all runtimes share (P-068). Pure.
//
// R1. A reply is whole when as many calls are there as were told, when all calls of it are answered, or when its step ends.
//     Until then what is said of its calls waits in the book, for two seconds at most.
// R2. Content after that is the next reply, in a step of its own.
// R3. A call is answered once; what the runtime says of it again, as on a replay, is dropped by the book (P-078).
// R4. The first `finish` or `error` is the end, and nothing counts after it.

import { harnessError } from '../foreign/turn-endings.ts';
import { isAbsolute, relative } from 'node:path';
import { errorValue } from './mend-part.ts';
import { isJsonObject, parsedOrText, toJsonValue, type JsonValue } from '../../core/json.ts';
import { namedPaths } from '../foreign/named-paths.ts';
import { providerError } from '../foreign/provider-error.ts';
import { questionsOf, questionsTool } from './questions.ts';
import { usageOf, usageSince } from './usage-of.ts';
import type { ErrorInfo, StopReason } from '../../core/outcome.ts';
import type {
  FinishPart,
  FinishReason,
  FinishStepPart,
  StreamPart,
  ToolCallPart,
  ToolResultPart,
} from '../../protocol/parts/stream-part.ts';
import type { NativeFact } from '../foreign/native-fact.ts';
import type { Reduced, V1Call, V1Setting, V1State } from './v1-state.ts';

export function reducePart(state: V1State, part: StreamPart, setting: V1Setting): Reduced {
  if (state.end !== null) return [state, []];
  switch (part.type) {
    case 'stream-start':
      return [part.modelId === undefined ? state : { ...state, model: nameOf(part.modelId, setting) }, [progress]];
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
      return [state, [progress]];
    case 'raw':
      return [state, [{ is: 'alive' }]];
    case 'text-delta':
      return withReply(state, (open) => [open, [{ is: 'text', key: part.id, text: part.delta }]]);
    case 'reasoning-delta':
      return withReply(state, (open) => [open, [{ is: 'thinking', key: part.id, text: part.delta }]]);
    case 'tool-input-start':
      return withReply(state, (open) => [
        { ...open, isStreaming: new Set([...open.isStreaming, part.id]) },
        [{ is: 'call-begun', id: part.id, name: part.toolName }],
      ]);
    case 'tool-input-delta':
      return [state, [{ is: 'call-input', id: part.id, piece: part.delta }]];
    case 'tool-input-end':
      return [state, [progress]];
    case 'tool-call':
      return state.known.has(part.toolCallId)
        ? [state, [progress]]
        : withReply(state, (open) => reduceCall(open, part, setting));
    case 'tool-approval-request':
      return [state, [gateOf(state, part, setting)]];
    case 'tool-result':
      return part.preliminary === true ? [state, [progress]] : reduceResult(state, part);
    case 'finish-step':
      return endStep(state, part);
    case 'finish':
      return endTurn(state, part, setting);
    case 'error':
      return [{ ...state, end: { as: 'failed', error: errorOf(part.error, setting) } }, []];
    case 'file-change':
      return [state, [fileOf(part.event, part.path, setting)]];
    case 'compaction': {
      const { tokensBefore, tokensAfter } = part;
      const isMeasured = tokensBefore !== undefined && tokensAfter !== undefined;
      return [state, [isMeasured ? { is: 'compacted', tokensBefore, tokensAfter } : progress]];
    }
  }
}

const progress: NativeFact = { is: 'progress' };
const whole: NativeFact = { is: 'reply-accepted', finishReason: 'tool-use', raw: null, usage: null };

/** R2. */
function withReply(state: V1State, make: (open: V1State) => Reduced): Reduced {
  if (state.step === 'open') return make(state);
  const served: readonly NativeFact[] = state.model === null ? [] : [{ is: 'served', model: state.model }];
  const [next, facts] = make({
    ...state,
    step: 'open',
    calls: 0,
    unanswered: new Set(),
    isStreaming: new Set(),
    ready: [],
  });
  return [next, [{ is: 'reply-begun' }, ...served, ...facts]];
}

/** A router's name of the model that was asked for is no other model. */
function nameOf(modelId: string, { model }: V1Setting): string {
  return modelId.endsWith(`/${model}`) || model.endsWith(`/${modelId}`) ? model : modelId;
}

function reduceCall(open: V1State, part: ToolCallPart, setting: V1Setting): Reduced {
  const { toolCallId: id, toolName: name } = part;
  const call: V1Call = { id, name, input: parsedOrText(part.input), isHosted: part.providerExecuted !== true };
  const isStreaming = new Set([...open.isStreaming].filter((each) => each !== id));
  const runs = !call.isHosted && !setting.mayAsk;
  const ready = runs ? [...open.ready, call] : open.ready;
  const canRun = isStreaming.size === 0;
  const isWhole = part.stepToolCallCount !== undefined && open.calls + 1 >= part.stepToolCallCount;
  const next: V1State = {
    ...open,
    step: isWhole ? 'accepted' : 'open',
    calls: open.calls + 1,
    unanswered: new Set([...open.unanswered, id]),
    known: new Map([...open.known, [id, call]]),
    isStreaming,
    ready: canRun ? [] : ready,
  };
  const running = canRun ? ready.map((each): NativeFact => ({ is: 'call-running', call: each })) : [];
  return [
    next,
    [{ is: 'call-whole', call }, ...(isWhole ? [whole] : []), ...running, ...(call.isHosted ? hosted(call) : [])],
  ];
}

/** This host has no tools of its own to offer: a question is a person's to answer, and all else is answered here. */
function hosted(call: V1Call): readonly NativeFact[] {
  const questions = call.name === questionsTool ? questionsOf(call.input) : null;
  if (questions !== null) return [{ is: 'question', request: call.id, call, questions }];
  return [{ is: 'call-ended', id: call.id, outcome: 'error', content: notHere(call) }];
}

export const notHere = ({ name }: V1Call) => `Not run: there is no tool ${JSON.stringify(name)} here.`;

function gateOf(
  state: V1State,
  { approvalId, toolCallId }: Extract<StreamPart, { type: 'tool-approval-request' }>,
  setting: V1Setting,
): NativeFact {
  const call = state.known.get(toolCallId) ?? { id: toolCallId, name: 'unknown', input: {} };
  const useKind = setting.useKindOf(call.name);
  const named = namedPaths(call.input, ['path', 'file_path', 'filePath', 'notebook_path']);
  return { is: 'gate', request: approvalId, call, ...(useKind === undefined ? {} : { useKind }), ...named };
}

function reduceResult(state: V1State, { toolCallId, result, isError }: ToolResultPart): Reduced {
  const unanswered = new Set([...state.unanswered].filter((id) => id !== toolCallId));
  const isWhole = state.step === 'open' && state.unanswered.has(toolCallId) && unanswered.size === 0;
  const ended: NativeFact = {
    is: 'call-ended',
    id: toolCallId,
    outcome: isError === true ? 'error' : 'ok',
    content: textOf(toJsonValue(result)),
  };
  return [{ ...state, unanswered, step: isWhole ? 'accepted' : state.step }, isWhole ? [whole, ended] : [ended]];
}

const textOf = (value: JsonValue) => (typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value));

function endStep(state: V1State, { finishReason, usage: counts }: FinishStepPart): Reduced {
  const usage = state.relayed ?? usageOf(counts);
  const next: V1State = { ...state, step: 'none', relayed: null, hasUsage: state.hasUsage || usage !== null };
  if (state.step === 'accepted') return [next, usage === null ? [progress] : [{ is: 'usage', usage }]];
  return [next, [{ is: 'reply-accepted', finishReason: reasonOf(finishReason), raw: finishReason.raw ?? null, usage }]];
}

/** A runtime that counts nothing step by step has its whole count on the last one (H-703). */
function endTurn(state: V1State, { finishReason, totalUsage }: FinishPart, { label }: V1Setting): Reduced {
  const total = usageOf(totalUsage);
  const usage = state.relayed ?? (state.hasUsage ? null : usageSince(total, state.total));
  const reason = reasonOf(finishReason);
  const facts: NativeFact[] = [];
  if (state.step === 'open')
    facts.push({ is: 'reply-accepted', finishReason: reason, raw: finishReason.raw ?? null, usage });
  else if (usage !== null) facts.push({ is: 'usage', usage });
  const next: V1State = { ...state, step: 'none', relayed: null, total: total ?? state.total };
  if (finishReason.unified === 'error')
    return [{ ...next, end: { as: 'failed', error: harnessError(`${label} ended the turn with an error.`) } }, facts];
  const stopReason = reason === 'tool-use' ? {} : { stopReason: reason };
  return [{ ...next, end: { as: 'completed', ...stopReason } }, facts];
}

const reasons: Readonly<Record<FinishReason['unified'], StopReason>> = {
  stop: 'end-turn',
  length: 'max-tokens',
  'content-filter': 'safety',
  'tool-calls': 'tool-use',
  error: 'other',
  other: 'other',
};
const reasonOf = ({ unified }: FinishReason): StopReason => reasons[unified];

/** A runtime's own words are shown to nobody (U-052). */
export function errorOf(error: unknown, { label }: Pick<V1Setting, 'label'>): ErrorInfo {
  const value = errorValue(error);
  const { statusCode, status = statusCode, type = null, message = '' } = isJsonObject(value) ? value : {};
  if (typeof status !== 'number') return harnessError(`${label} reported an error and ended the turn.`);
  return providerError({ status, type: typeof type === 'string' ? type : null, message: textOf(message) });
}

function fileOf(kind: 'create' | 'modify' | 'delete', path: string, { workspace }: V1Setting): NativeFact {
  const within = isAbsolute(path) ? relative(workspace, path) : path;
  return within === '' || within.startsWith('..') ? progress : { is: 'file', kind, path: within };
}
