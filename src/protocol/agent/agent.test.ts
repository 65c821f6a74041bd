import { expect, test } from 'vitest';
import { acceptsStream } from './accepts-stream.ts';
import { parseAgentRequest } from './request.ts';
import { AgentRefusal } from './agent-refusal.ts';

test.each([
  [undefined, false],
  ['*/*', false],
  ['text/*', false],
  ['application/json', false],
  ['text/plain', false],
  ['text/event-stream;q=0', false],
  ['text/event-stream; q=0.000', false],
  ['text/event-streams', false],
  ['text/event-stream', true],
  ['TEXT/Event-Stream', true],
  ['application/json, text/event-stream', true],
  ['text/event-stream; charset=utf-8', true],
  ['text/event-stream;q=0.1', true],
])('A-001: Accept %s asks for the stream: %s', (accept, streams) => {
  expect(acceptsStream(accept)).toBe(streams);
});

function refusal(body: string): string {
  try {
    parseAgentRequest(body);
  } catch (cause) {
    if (cause instanceof AgentRefusal) return `${cause.status} ${cause.message}`;
    throw cause;
  }
  return '';
}

test.each([
  ['', '400 The body must be JSON: { "prompt": string }.'],
  ['{"prompt"', '400 The body must be JSON: { "prompt": string }.'],
  ['null', '400 The body must be a JSON object with a "prompt".'],
  ['["x"]', '400 The body must be a JSON object with a "prompt".'],
  ['"x"', '400 The body must be a JSON object with a "prompt".'],
  ['{}', '400 "prompt" must be a string.'],
  ['{"prompt":7}', '400 "prompt" must be a string.'],
  ['{"prompt":" \\n"}', '400 "prompt" is empty.'],
  ['{"prompt":"x","cwd":42}', '400 "cwd" must be a string.'],
  ['{"prompt":"x","cwd":[]}', '400 "cwd" must be a string.'],
  ['{"prompt":"x","cwd":false}', '400 "cwd" must be a string.'],
  ['{"prompt":"x","cwd":"../x"}', '400 Invalid cwd: the path leaves the workspace'],
  ['{"prompt":"x","modelId":7}', '400 "modelId" must be a model id.'],
  ['{"prompt":"x","modelId":" "}', '400 "modelId" must be a model id.'],
  ['{"prompt":"x","modelId":"a b"}', '400 "modelId" must be a model id.'],
  // The first that fails answers.
  ['{"prompt":7,"cwd":42}', '400 "prompt" must be a string.'],
  ['{"prompt":"x","cwd":42,"modelId":7}', '400 "cwd" must be a string.'],
])('A-010: %s is refused with %s', (body, told) => {
  expect(refusal(body)).toBe(told);
});

test('A-010: a prompt of 4,000,000 characters is let in, one more is not, and white space around it does not count', () => {
  const body = (length: number) => JSON.stringify({ prompt: ` ${'x'.repeat(length)} ` });
  expect(parseAgentRequest(body(4_000_000)).prompt).toHaveLength(4_000_000);
  expect(refusal(body(4_000_001))).toBe('400 "prompt" is longer than 4,000,000 characters.');
  expect(refusal(JSON.stringify({ prompt: 'x', modelId: 'm'.repeat(129) }))).toBe('400 "modelId" must be a model id.');
});

test('A-011, A-014: unknown fields are ignored, null is absent, and what is given is normalised', () => {
  const given = { prompt: ' hi ', modelId: ' m ', cwd: './a//b', stream: true, toString: 1 };
  expect(parseAgentRequest(JSON.stringify(given))).toEqual({ prompt: 'hi', modelId: 'm', cwd: 'a/b' });
  const none = { prompt: 'hi', modelId: null, cwd: null };
  expect(parseAgentRequest(JSON.stringify(none))).toEqual({ prompt: 'hi', modelId: null, cwd: null });
});
