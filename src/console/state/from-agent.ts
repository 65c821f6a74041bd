import { bareEnd, endingOf } from './end-line.ts';
import type { AgentEvent } from './wire.ts';
import type { TurnEvent } from './turn-event.ts';

/** What an event of `POST /api/agent` is for the page. */
export function fromAgent(event: AgentEvent): readonly TurnEvent[] {
  switch (event.type) {
    case 'tool_start':
      return [{ type: 'tool_start', id: event.id ?? null, name: event.name, index: null }];
    case 'tool_result': {
      const { id = null, name, ok, summary, preview = null } = event;
      return [{ type: 'tool_result', id, name, ok, summary, preview }];
    }
    case 'reasoning_delta':
      return [{ type: 'reasoning_delta', text: event.text, index: null }];
    case 'text_delta':
      return [{ type: 'text_delta', text: event.text, index: null }];
    case 'attempt_reset':
      return [{ type: 'attempt_reset', index: null, kept: event.kept, retryInMs: null }];
    case 'done':
      return [{ ...bareEnd({ kind: 'finished' }), text: event.text, cwd: event.cwd ?? null }];
    case 'error':
      return [bareEnd(endingOf({ text: event.error, status: event.status ?? null }))];
    default:
      // Of a newer server.
      event satisfies never;
      return [];
  }
}

/** A JSON answer with a trace (V19): each call is over, and its summary is all that is known of it. */
export function fromAgentAnswer({ text, toolTrace = [], cwd }: AgentAnswer): readonly TurnEvent[] {
  const calls = toolTrace.map((trace): TurnEvent => ({
    ...trace,
    type: 'tool_result',
    id: null,
    preview: null,
    traced: true,
  }));
  return [
    ...calls,
    { type: 'text_delta', text, index: null },
    ...fromAgent({ type: 'done', text, ...(cwd === undefined ? {} : { cwd }) }),
  ];
}

type AgentAnswer = Omit<Extract<AgentEvent, { type: 'done' }>, 'type'>;
