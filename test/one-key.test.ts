import { expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ownerKey, startServer } from './support/in-process-server.ts';
import { tmpdir } from 'node:os';

test('B113: one key sent a hundred times at once, streamed and plain, through two servers of one store, is one execution', async () => {
  const data = await mkdtemp(join(tmpdir(), 'reins-key-'));
  const servers = [await startServer({}, data), await startServer({}, data)];
  try {
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const stream = index % 4 < 2;
        const response = await fetch(`${servers[index % 2]?.url}/v1/responses`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${ownerKey}`,
            'Content-Type': 'application/json',
            'Idempotency-Key': 'one',
          },
          body: JSON.stringify({ input: 'Reply with exactly: ok', stream }),
        });
        const text = await response.text();
        const last = stream ? text.trim().split('\n').at(-1)?.slice('data: '.length) : text;
        const parsed = JSON.parse(last ?? '{}');
        return JSON.stringify(stream ? parsed.response : parsed);
      }),
    );
    expect(new Set(answers).size).toBe(1);
    expect(JSON.parse(answers[0] ?? '{}')).toMatchObject({ status: 'completed' });
    expect((await servers[0]?.call('GET', '/v1/sessions'))?.body['sessions']).toHaveLength(1);
  } finally {
    for (const server of servers) await server.close();
    await rm(data, { recursive: true, force: true });
  }
});
