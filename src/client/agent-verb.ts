// `POST /api/agent`: one turn in one request, which ends when the caller hangs up.

import { field, isObject, textOf } from './loose.ts';
import { readJson } from './transport.ts';
import { readMessages } from './read-messages.ts';
import { settleWithin } from './settle-within.ts';
import type { AgentAnswer, AgentEvent } from '../protocol/agent/events.ts';
import type { ClientParts } from './client-parts.ts';
import type { VerbOptions } from './shapes.ts';

export interface AgentRequest {
  readonly prompt: string;
  readonly modelId?: string | null;
  readonly cwd?: string | null;
}

/**
 * The events of the turn, or its answer in one piece where the server sends no stream. The last event is `done` or `error`; a
 * stream without either was cut. Leaving the loop stops the turn.
 * @throws UhpError  Refused before the turn began, or broken off. @throws the signal's reason
 */
export async function* askAgent(
  { transport, clock, inactivityMs }: ClientParts,
  body: AgentRequest,
  { signal }: VerbOptions = {},
): AsyncGenerator<AgentEvent | ({ readonly type: 'answer' } & AgentAnswer), void> {
  const leaving = new AbortController();
  const either = signal === undefined ? leaving.signal : AbortSignal.any([signal, leaving.signal]);
  const limits = { clock, ms: inactivityMs, signal: either };
  try {
    const headers = { Accept: 'text/event-stream' };
    // Without a limit of time: where there is no stream, the answer comes with the end of the turn.
    const call = { method: 'POST', path: '/api/agent', body, headers, unversioned: true } as const;
    const answer = await transport.send({ ...call, signal: either });
    if (answer.body === null || answer.headers.get('Content-Type')?.startsWith('text/event-stream') !== true) {
      yield { ...(await settleWithin(readJson<AgentAnswer>(answer), limits)), type: 'answer' };
      return;
    }
    for await (const data of readMessages(answer.body, limits)) {
      const event = parsed(data);
      if (event !== null) yield event;
    }
  } finally {
    leaving.abort();
  }
}

const fields: Readonly<Record<AgentEvent['type'], Readonly<Record<string, 'string' | 'boolean' | 'number'>>>> = {
  tool_start: { name: 'string' },
  tool_result: { name: 'string', ok: 'boolean', summary: 'string' },
  reasoning_delta: { text: 'string' },
  text_delta: { text: 'string' },
  attempt_reset: { attempt: 'number', kept: 'string' },
  done: { text: 'string' },
  error: { error: 'string', status: 'number' },
};
const shapes = new Map(Object.entries(fields));

/** Null: no JSON, of no known type, or not of its shape. */
function parsed(data: string): AgentEvent | null {
  try {
    const value: unknown = JSON.parse(data);
    return isEvent(value) ? value : null;
  } catch {
    return null;
  }
}

function isEvent(value: unknown): value is AgentEvent {
  const shape = shapes.get(textOf(value, 'type') ?? '');
  if (!isObject(value) || shape === undefined) return false;
  return Object.entries(shape).every(([name, type]) => typeof field(value, name) === type);
}
