// What is asked of one server about the task of another, through a balancer that knows of neither.

import { expect, onTestFinished, test } from 'vitest';
import { begin, watch } from './support/shared-folder.ts';
import { createGate, hold, reply, startModel, text } from './support/model.ts';
import { describeWithPostgres } from './support/postgres.ts';
import { ended, finalOf, key, whole } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { isDelta, type StreamEvent } from './support/event-stream.ts';
import { startServerCluster, twoNodes } from './support/cluster.ts';

describeWithPostgres('servers behind a balancer', (cluster) => {
  async function start() {
    const gate = createGate();
    const held = [reply(text('first '), hold, text('second'))];
    const model = await startModel((asked) => (asked.startsWith('held') ? held : undefined), gate);
    onTestFinished(() => model[Symbol.asyncDispose]());
    const servers = await startServerCluster({ databaseUrl: await (await cluster()).database(), model, nodes: 2 });
    return { gate, model, servers };
  }

  test('E-813: a cancel through any server is heard by the owner at once, and answered with the end', async () => {
    const { model, servers } = await start();
    const [owner, other] = twoNodes(servers);
    const id = await begin(owner, 'held');
    const { seen, over } = watch(await other.uhp.attach(id));
    await eventually(() => seen.some(isDelta) || undefined);
    expect((await other.uhp.cancel(id)).body).toMatchObject({ status: 'cancelled', error: null });
    await eventually(() => model.server.open === 0 || undefined, 1_000);
    await over;
  });

  test('UD-79: the feed of a harness shows tasks of every server, also where another takes one over', async () => {
    const { gate, servers } = await start();
    const [owner, other] = twoNodes(servers);
    const { body } = await other.uhp.send('GET', '/v1/harnesses');
    const [harness] = body['harnesses'] as { id: string }[];
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const feed = await fetch(`${other.uhp.url}/v1/harnesses/${harness?.id}/events`, {
      headers: { authorization: `Bearer ${key}` },
      signal: leaving.signal,
    });
    let heard = '';
    const hearing = (async () => {
      for await (const chunk of feed.body?.pipeThrough(new TextDecoderStream()) ?? []) heard += chunk;
    })();
    hearing.catch(() => {}); // it is left
    const events = (id: string) =>
      [...heard.matchAll(/^data: (.*)$/gm)]
        .map(([, data = '']) => JSON.parse(data) as StreamEvent & { response_id: string })
        .filter((event) => event.response_id === id);
    await eventually(() => heard !== '' || undefined);
    const id = await begin(owner, 'held');
    const short = await owner.uhp.create({ input: 'short' });
    await eventually(() => events(short.body.id).at(-1)?.type === 'response.completed' || undefined);
    await eventually(() => events(id).some(({ delta }) => delta !== undefined) || undefined);
    await owner.kill();
    gate.open();
    const own = await whole(other.uhp.attach(id));
    await eventually(() => events(id).length === own.length || undefined);
    const session_id = finalOf(own).metadata.session_id;
    expect(events(id)).toEqual(own.map(({ event }) => ({ ...event, response_id: id, session_id })));
  });

  test('B106: of thirty tasks at once that continue one response, at any server, one is accepted, and the others hear that the session is busy', async () => {
    const { gate, servers } = await start();
    const { uhp } = servers;
    const first = await uhp.create({ input: 'one' });
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        uhp.create({ input: `held ${n}`, previous_response_id: first.body.id, background: true }),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted).toHaveLength(1);
    expect(answers.filter(({ code }) => code === 'session_busy')).toHaveLength(29);
    gate.open();
    expect((await ended(uhp, accepted[0]?.body.id ?? '')).status).toBe('completed');
  });
});
