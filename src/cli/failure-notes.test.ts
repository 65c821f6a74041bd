import { expect, test } from 'vitest';
import { createFailureNotes } from './failure-notes.ts';

function notes(secrets: readonly string[] = [], stop = new AbortController().signal) {
  const lines: string[] = [];
  return { lines, logger: createFailureNotes({ note: (line) => lines.push(line), secrets, stop }) };
}

test('a failed model call is one line: who, status, and what the provider or the network said', () => {
  const { lines, logger } = notes();
  const refused = new Error('Cannot connect', { cause: Object.assign(new Error(''), { code: 'ECONNREFUSED' }) });
  const facts = { runId: 'resp_1', provider: 'openai', model: 'gpt-5.4', message: 'It could not answer now.' };
  logger.error('A model call failed.', facts, refused);
  logger.error(
    'A model call failed.',
    { ...facts, status: 401 },
    { type: 'authentication_error', message: 'bad\nkey' },
  );
  logger.warn('A model call failed.', facts);
  expect(lines).toEqual([
    'A model call failed (openai, gpt-5.4): Cannot connect, ECONNREFUSED',
    'A model call failed (openai, gpt-5.4, status 401): bad key',
    'A model call failed (openai, gpt-5.4): It could not answer now.',
  ]);
});

test('U-420: a secret is not shown, whoever repeats it', () => {
  const { lines, logger } = notes(['sk-very-secret']);
  logger.error('A model call failed.', {}, new Error('Incorrect API key provided: sk-very-secret.'));
  expect(lines.join()).toBe('A model call failed: Incorrect API key provided: (secret).');
});

test('of a program that failed its last words are told; where it said nothing, the result alone is', () => {
  const { lines, logger } = notes(['sk-secret']);
  logger.warn('A turn of Pi failed.', { detail: `${'x'.repeat(400)}\nno such key: sk-secret\n` });
  logger.warn('A turn of Pi failed.', { detail: '' });
  expect(lines).toEqual([`A turn of Pi failed: ${' no such key: (secret)'.padStart(300, 'x')}`]);
});

test('B097: what fails because it is stopped is not told', () => {
  const { lines, logger } = notes([], AbortSignal.abort());
  logger.warn('A turn of Pi failed.', { detail: 'It was killed.' });
  expect(lines).toEqual([]);
});
