import { expect, test } from 'vitest';
import { endLine, endingOf, endingOfResponse, type Failure } from './end-line.ts';
import { foldPrompt } from './prompt-fold.ts';
import type { Row } from './row.ts';
import type { UhpResponse } from './wire.ts';

const bare = (text: string): Failure => ({ text, status: null });

test.each<[Failure, string]>([
  [bare('Request cancelled.'), 'you stopped'],
  [{ text: 'gone', status: 499 }, 'you stopped'],
  [{ text: 'The turn timed out.', status: 504 }, 'timed out'],
  [{ text: 'slow', status: 408 }, 'timed out · slow'],
  [{ text: 'it took long', status: null, code: 'timeout' }, 'timed out · it took long'],
  [bare('fetch Timed Out'), 'timed out · fetch Timed Out'],
  [bare('maxDuration reached'), 'timed out · maxDuration reached'],
  [{ text: 'a timeout of the tool', status: 502 }, 'error · a timeout of the tool'],
  [{ text: 'Empty model response.', status: 502 }, 'empty model response'],
  [{ text: '"prompt" is empty.', status: 400 }, 'invalid input · "prompt" is empty.'],
  [{ text: 'The body is too large.', status: 413 }, 'invalid input · The body is too large.'],
  [{ text: 'Output truncated.', status: 502 }, 'error · output truncated'],
  [{ text: 'The model declined.', status: 502 }, 'error · the model declined'],
  [{ text: 'Budget reached: steps.', status: 422 }, 'error · budget reached: steps'],
  [{ text: ' a\n b ', status: 500 }, 'error · a b'],
  [bare(''), 'error'],
])('C-030: %o ends with "%s"', (failure, line) => {
  expect(endLine(endingOf(failure)).text).toBe(`Turn ended · ${line}`);
});

const response = (of: Partial<UhpResponse>) => ({ error: null, incomplete_details: null, ...of }) as UhpResponse;

test.each<[UhpResponse, string, 'system' | 'error']>([
  [response({ status: 'completed' }), 'model finished', 'system'],
  [response({ status: 'cancelled' }), 'you stopped', 'system'],
  [response({ status: 'incomplete', incomplete_details: { reason: 'timeout' } }), 'timed out', 'error'],
  [
    response({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
    'error · output truncated',
    'error',
  ],
  [
    response({ status: 'incomplete', incomplete_details: { reason: 'reins_max_cost' } }),
    'error · budget reached: cost',
    'error',
  ],
  [
    response({
      status: 'failed',
      error: { type: 'harness_error', code: 'provider_error', message: 'No.', param: null, detail: null },
    }),
    'error · No.',
    'error',
  ],
])('C-030, UD-83: a response that is %o', (of, text, kind) => {
  const ending = endingOfResponse(of);
  expect(ending && endLine(ending)).toEqual({ kind, text: `Turn ended · ${text}` });
});

const row = (kind: 'user' | 'error' | 'system', text: string): Row => ({ id: text, turn: 't', place: 0, kind, text });

test('C-036: the fold is a header, a line for each message, and the prompt; without history the prompt alone', () => {
  expect(foldPrompt([], 'go')).toBe('go');
  const rows = [row('user', 'hi'), row('error', 'Turn ended · error · no'), row('system', 'Turn ended · you stopped')];
  expect(foldPrompt(rows, 'go')).toBe(
    'Conversation so far:\nUser: hi\nError: Turn ended · error · no\n\nUser: go\n\nAssistant:',
  );
});

test('C-036: the newest 400 messages count, and of more than 3,500,000 characters the tail, from a line on', () => {
  const lines = foldPrompt(
    Array.from({ length: 500 }, (_, at) => row('user', `${at}`)),
    'go',
  ).split('\n');
  expect([lines[1], lines.length]).toEqual(['User: 100', 405]);
  const long = foldPrompt(
    Array.from({ length: 400 }, () => row('user', 'x'.repeat(9_990))),
    'go',
  );
  expect(long.length).toBeLessThanOrEqual(3_500_000);
  expect(long.endsWith('\n\nUser: go\n\nAssistant:')).toBe(true);
  const near = foldPrompt([row('user', `a\n${'y'.repeat(3_499_970)}`)], 'go');
  expect(near.startsWith('y'.repeat(9))).toBe(true);
});
