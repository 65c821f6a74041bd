import { addUsage } from './usage.ts';
import { canonicalJson } from './json.ts';
import { hashText } from './text.ts';
import type { CallProgress, CallState, RunState } from './run-state.ts';
import type { EventData, RunEventOf } from './run-event.ts';

type CallEvent = RunEventOf<'tool-call-start' | 'tool-dispatched' | 'tool-call-complete' | 'tool-result'>;

/** One event further of those of the calls of the open step (E-531). */
export function evolveCall(state: RunState, event: CallEvent): RunState {
  if (state.open === null) return state;
  const id = event.type === 'tool-result' ? event.data.toolCallId : event.data.id;
  const calls = state.open.calls.map((entry) =>
    entry.call.id === id ? { ...entry, progress: progressAfter(entry, event) } : entry,
  );
  const ranTools = state.open.ranTools || event.type === 'tool-dispatched';
  const next = { ...state, open: { ...state.open, calls, ranTools } };
  if (event.type !== 'tool-call-complete') return next;
  const { usage } = event.data;
  return {
    ...next,
    recentCalls: remember(state, event),
    usage: addUsage(state.usage, usage ?? null),
    usageIncomplete: state.usageIncomplete || usage === null || event.data.usageIncomplete === true,
  };
}

function remember({ recentCalls, limits }: RunState, { data }: RunEventOf<'tool-call-complete'>): readonly string[] {
  if (limits.loopGuard === null) return recentCalls;
  return [...recentCalls, fingerprintOf(data)].slice(-limits.loopGuard.history);
}

const fingerprints = new WeakMap<EventData['tool-call-complete'], string>();

/** A fact is folded by whoever drives the run and by the log's owner, and before that to look ahead; reckoned once. */
function fingerprintOf(data: EventData['tool-call-complete']): string {
  const known = fingerprints.get(data);
  if (known !== undefined) return known;
  const made = `${data.name}:${hashText(canonicalJson(data.input))}:${hashText(canonicalJson(data._raw))}`;
  fingerprints.set(data, made);
  return made;
}

function progressAfter({ call, progress }: CallState, event: CallEvent): CallProgress {
  const begun = progress.at === 'written' ? { name: call.name, input: null } : progress;
  const { name, input } = event.type === 'tool-call-start' || event.type === 'tool-call-complete' ? event.data : begun;
  switch (event.type) {
    case 'tool-call-start':
      return { at: 'started', name, input, willRun: event.data.willRun };
    case 'tool-dispatched': {
      const { toolAttempt, replay, argsDigest, childRunId } = event.data;
      const child = childRunId === undefined ? {} : { childRunId };
      return { at: 'dispatched', name, input, toolAttempt, replay, argsDigest, ...child };
    }
    case 'tool-call-complete':
      return { at: 'returned', name, input, outcome: event.data.outcome, raw: event.data._raw };
    case 'tool-result':
      return { at: 'answered', name, input, outcome: progress.at === 'returned' ? progress.outcome : 'ok' };
  }
}
