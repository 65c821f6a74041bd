// `POST /api/agent` as a client sees it: bytes, and the events read out of them.

import { key } from './uhp.ts';
import type { AgentEvent } from '../../src/protocol/agent/events.ts';

export interface AgentCallOptions {
  readonly accept?: string;
  readonly token?: string;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

export function askAgent(url: string, body: unknown, options: AgentCallOptions = {}): Promise<Response> {
  const { accept, token = key, signal, headers = {} } = options;
  return fetch(`${url}/api/agent`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(accept === undefined ? {} : { accept }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

export interface JsonAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export async function answerOf(asked: Promise<Response>): Promise<JsonAnswer> {
  const response = await asked;
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

export const asJson = (url: string, body: unknown, options: AgentCallOptions = {}): Promise<JsonAnswer> =>
  answerOf(askAgent(url, body, options));

export const asStream = (url: string, body: unknown, options: AgentCallOptions = {}): Promise<Response> =>
  askAgent(url, body, { accept: 'text/event-stream', ...options });

/** All events of a stream that is whole. */
export async function eventsOf(asked: Promise<Response>): Promise<readonly AgentEvent[]> {
  return parseEvents(await (await asked).text());
}

export function parseEvents(bytes: string): readonly AgentEvent[] {
  return bytes
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => JSON.parse(block.replace(/^data: /, '')) as AgentEvent);
}

/** Reads until it is there, and leaves the stream open. */
export async function readUntil(response: Response, words: string): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let seen = '';
  while (!seen.includes(words)) {
    const next = await reader?.read();
    if (next === undefined || next.done) throw new Error(`The stream ended before it said ${words}: ${seen}`);
    seen += next.value;
  }
  reader?.releaseLock();
  return seen;
}
