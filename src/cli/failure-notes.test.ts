import { expect, test } from 'vitest';
import { createFailureNotes } from './failure-notes.ts';

function notes(secrets: readonly string[] = []) {
  const lines: string[] = [];
  return { lines, logger: createFailureNotes({ note: (line) => lines.push(line), secrets }) };
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
