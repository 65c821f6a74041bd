// Where a key may stand, and where none of it is ever found afterwards.

import { expect, test } from 'vitest';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { key, connectTo, whole } from './support/uhp.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import type { Logger } from '../src/core/logger.ts';

/** All that a logger is told, as text. */
function recordingLogger(): { readonly logger: Logger; readonly told: string[] } {
  const told: string[] = [];
  const note = (...facts: unknown[]) =>
    void told.push(facts.map((fact) => (fact instanceof Error ? String(fact.stack) : JSON.stringify(fact))).join(' '));
  return { logger: { info: note, warn: note, error: note }, told };
}

test('B127: a key counts in its header alone, streams included, and is found in no log, answer or file afterwards', async () => {
  const data = temporaryFolder();
  const { logger, told } = recordingLogger();
  await using server = await startServer({ data, logger });
  const { uhp } = server;
  const { body } = await uhp.create({ input: 'Reply with exactly: ok' });
  await whole(uhp.attach(body.id));
  const answers: string[] = [];
  for (const name of ['key', 'api_key', 'apikey', 'token', 'access_token', 'authorization', 'ticket'])
    for (const path of [
      `/v1/responses/${body.id}`,
      `/v1/responses/${body.id}?stream=true`,
      '/v1/sessions',
      '/v1/nowhere',
    ]) {
      const url = `${server.url}${path}${path.includes('?') ? '&' : '?'}${name}=${key}`;
      const response = await fetch(url, { headers: { cookie: `${name}=${key}` } });
      expect([url, response.status]).toEqual([url, 401]);
      expect(response.headers.get('referrer-policy')).toBe('no-referrer');
      answers.push(JSON.stringify([...response.headers]) + (await response.text()));
    }
  // With a good key beside it, too, and with one that is wrong.
  await uhp.send('GET', `/v1/sessions?key=${key}`);
  await uhp.send('GET', `/v1/nowhere?key=${key}`);
  await connectTo(server.url, `${key}x`).send('GET', '/v1/sessions');
  for (const text of [...answers, ...told]) expect(text).not.toContain(key);
  const files = globSync('**', { cwd: data }).filter((name) => statSync(join(data, name)).isFile());
  expect(files.filter((name) => readFileSync(join(data, name)).includes(key))).toEqual([]);
});
