// UR-53 over several nodes: what a principal may use is counted once, wherever it asks, and two nodes never both take what is last.

import { afterAll, expect, test } from 'vitest';
import { createGate, hold, reply, startModel, text, type Gate } from './support/model.ts';
import { describeWithPostgres } from './support/postgres.ts';
import { connectTo, ended, type Answer, type Uhp } from './support/uhp.ts';
import { startProcess, startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { upTo } from '../src/testing/log-rig.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Place {
  readonly urls: readonly [string, string];
  readonly gate: Gate;
}

const limits = {
  principals: {
    many: { runningTasks: 3 },
    fast: { tasksPerMinute: 5 },
    costly: { runningTasks: 1, tokensPerDay: 17 },
    large: { uploadBytesPerDay: 10 },
  },
};

/** Each reply is said to cost 17 tokens. Tasks `held…` stand in their first word. */
async function openModel(stack: AsyncDisposableStack) {
  const gate = createGate();
  const held = [reply(text('first '), hold, text('second'))];
  const model = stack.use(await startModel((said) => (said.startsWith('held') ? held : undefined), gate));
  return { gate, env: model.env, settings: { ...model.settings, limits }, data: temporaryFolder() };
}

const laws: Readonly<Record<string, (place: Place) => Promise<void>>> = {
  'no more than so many at work, of many that both are asked for at once; what ends at one gives its place to the other':
    async (place) => {
      const [one, two] = await enter(place, 'many');
      const answers = await ask([one, two], 10, (uhp) => uhp.create({ input: 'held', background: true }));
      expect(codes(answers)).toEqual({ taken: 3, rate_limited: 7 });
      for (const { body, status } of answers) if (status === 200) await one.cancel(body.id);
      expect((await two.create({ input: 'x' })).body).toMatchObject({ status: 'completed' });
    },

  'no more than so many a minute': async (place) => {
    const answers = await ask(await enter(place, 'fast'), 10, (uhp) => uhp.create({ input: 'x', background: true }));
    expect(codes(answers)).toEqual({ taken: 5, rate_limited: 5 });
    for (const { status, headers } of answers)
      if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThan(40);
  },

  'what was spent at one is spent at the other; who has spent all begins nothing, even where the last one is just ending':
    async (place) => {
      const [one, two] = await enter(place, 'costly');
      const { body } = await one.create({ input: 'held', background: true });
      const racing = ask([one, two], 8, async (uhp) => {
        for (;;) {
          const answer = await uhp.create({ input: 'x' });
          if (answer.code !== 'rate_limited') return answer;
        }
      });
      place.gate.open();
      expect(codes(await racing)).toEqual({ quota_exhausted: 8 });
      expect((await ended(two, body.id)).status).toBe('completed');
      for (const uhp of [one, two])
        expect((await uhp.send('GET', '/v1/reins/usage')).body).toMatchObject({ tokens: { used: 17, limit: 17 } });
    },

  'of uploads that come at once no more bytes are let in than have room': async (place) => {
    const [one, two] = await enter(place, 'large');
    const answers = await ask([one, two], 8, (uhp) => upload(uhp, 'xxxx'));
    expect(codes(answers)).toEqual({ taken: 2, quota_exhausted: 6 });
    expect((await two.send('GET', '/v1/reins/usage')).body).toMatchObject({ upload_bytes: { used: 8, limit: 10 } });
  },
};

/** At both nodes, with a key of its own. */
async function enter({ urls: [one, two] }: Place, principal: string): Promise<readonly [Uhp, Uhp]> {
  const { body } = await connectTo(one).send('POST', '/v1/reins/keys', { body: { principal } });
  return [connectTo(one, String(body['key'])), connectTo(two, String(body['key']))];
}

describeWithPostgres('two nodes on one PostgreSQL', (cluster) => {
  const stack = new AsyncDisposableStack();
  let opened: Promise<Place> | null = null;
  afterAll(() => stack.disposeAsync());

  async function open(): Promise<Place> {
    const { gate, data, settings, ...model } = await openModel(stack);
    const env = { ...model.env, REINS_DATABASE_URL: await (await cluster()).database() };
    const start = async () => stack.use(await startServer({ data, env, settings })).url;
    return { urls: [await start(), await start()], gate };
  }

  for (const [name, law] of Object.entries(laws))
    test(name, { timeout: 60_000 }, async () => law(await (opened ??= open())));
});

test('two processes on one SQLite file keep the same laws', { timeout: 60_000 }, async () => {
  await using stack = new AsyncDisposableStack();
  const { gate, data, settings, env } = await openModel(stack);
  writeFileSync(join(data, 'config.json'), JSON.stringify(settings));
  const start = async () => stack.adopt(await startProcess(data, env), ({ kill }) => kill()).uhp.url;
  const urls = await Promise.all([start(), start()]);
  for (const law of Object.values(laws)) await law({ urls, gate });
});

/** So often in turn, all at once. */
const ask = (nodes: readonly [Uhp, ...Uhp[]], times: number, request: (uhp: Uhp) => Promise<Answer>) =>
  Promise.all(upTo(times).map((index) => request(nodes[index % nodes.length] ?? nodes[0])));

function codes(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, code } of answers) {
    const name = status === 200 ? 'taken' : (code ?? `${status}`);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function upload(uhp: Uhp, content: string): Promise<Answer> {
  const parts = ['purpose"\r\n\r\nuser_data', `file"; filename="a.txt"\r\n\r\n${content}`];
  const body = parts.map((part) => `--b\r\nContent-Disposition: form-data; name="${part}\r\n`).join('');
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  return uhp.send('POST', '/v1/files', { body: `${body}--b--\r\n`, headers });
}
