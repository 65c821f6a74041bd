import { expect, onTestFinished, test } from 'vitest';
import { admissionOf, continuationOf, resultDraft, stampAll } from '../testing/store-samples.ts';
import { composeLocal } from '../compose.ts';
import { loadConfig } from '../config.ts';
import { readShared, shareSession } from './share-session.ts';
import { tmpdir } from 'node:os';
import type { Admission } from '../stores/admission.ts';
import type { JsonValue } from '../core/json.ts';
import type { Services } from './services.ts';

/** A shared session with these answers. */
async function open(answers: readonly string[], more: readonly JsonValue[] = []) {
  const local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
  onTestFinished(async () => local[Symbol.asyncDispose]());
  const { services } = local;
  const { store } = services;
  let last: Admission | null = null;
  for (const [index, answer] of answers.entries()) {
    last = last === null ? admissionOf('0') : continuationOf(String(index), last);
    const { runId, sessionId } = last;
    await store.admit(last);
    const events = stampAll([resultDraft(runId, sessionId)], runId, sessionId);
    const message = { type: 'message', content: [{ type: 'output_text', text: answer }] };
    const response = { status: 'completed', output: [...more, message] };
    const end = { status: 'completed', response, atMs: 2 } as const;
    await store.append([{ runId, generation: 1, after: 1, events, end }], { durable: false });
  }
  const { secret } = await shareSession(services, 'owner', admissionOf('0').sessionId);
  return { services, secret };
}

async function pagesOf(services: Services, secret: string): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = [];
  for (let cursor: string | null = null, more = true; more;) {
    const { turns, next_cursor: next }: Awaited<ReturnType<typeof readShared>> = await readShared(
      services,
      secret,
      cursor,
    );
    pages.push(turns.map(({ assistant }) => assistant));
    [cursor, more] = [next, next !== null];
  }
  return pages;
}

test('UD-31: a link shows a page of tasks at a time, all of them once and in order', async () => {
  const answers = Array.from({ length: 120 }, (_, index) => `answer ${index}`);
  const { services, secret } = await open(answers);
  const read: string[] = [];
  const counted: Services = {
    ...services,
    store: {
      ...services.store,
      async run(runId) {
        read.push(runId);
        return services.store.run(runId);
      },
    },
  };
  const pages = await pagesOf(services, secret);
  expect(pages.map(({ length }) => length)).toEqual([50, 50, 20]);
  expect(pages.flat()).toEqual(answers);
  await readShared(counted, secret, null);
  expect(read.length).toBeLessThan(60);
  await expect(readShared(services, secret, 'x')).rejects.toMatchObject({ status: 400, param: 'cursor' });
  expect((await readShared(services, secret, '999')).turns).toEqual([]);
});

test('UD-31: a page of long answers ends early, and one that is too long is cut', async () => {
  const { services, secret } = await open(Array.from({ length: 30 }, () => 'x'.repeat(100_000)));
  const pages = await pagesOf(services, secret);
  expect(pages.flat()).toHaveLength(30);
  for (const page of pages) expect(JSON.stringify(page).length).toBeLessThan(1_100_000);
  expect(pages[0]?.[0]).toBe(`${'x'.repeat(65_536)}…`);
  const call = { type: 'function_call', name: 'f', arguments: 'y'.repeat(9_000), call_id: 'c' };
  const long = await open(
    ['ok'],
    Array.from({ length: 500 }, () => call),
  );
  const [turn] = (await readShared(long.services, long.secret, null)).turns;
  expect([turn?.tools.length, turn?.tools[0]?.arguments.length, turn?.assistant]).toEqual([200, 8_193, 'ok']);
});
