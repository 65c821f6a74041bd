// A session whose task is cancelled while others want to continue it.

import { expect, test } from 'vitest';
import { isDelta } from './support/event-stream.ts';
import { createGate, hold, reply, startModel, text } from './support/model.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { until } from './support/uhp.ts';

interface ChatMessage {
  readonly role: string;
  readonly content: string | readonly { readonly text: string }[];
}

test('B106: a cancel that races ten who continue lets in one at most, and whoever comes after its answer; no two turns mix', async () => {
  const stands = [reply(text('first '), hold, text('never'))];
  // What a cancelled turn was asked stays, and stands in one message with what is asked next.
  await using model = await startModel((asked) => (/held \d$/.test(asked) ? stands : undefined), createGate());
  await using server = await startServer({ data: temporaryFolder(), ...model });
  const { uhp } = server;
  const first = await uhp.create({ input: 'one' });
  const inOrder = ['one'];
  let tip = first.body.id;
  for (let round = 0; round < 8; round++) {
    const held = `held ${round}`;
    const seen = await until(await uhp.stream({ input: held, previous_response_id: tip }), isDelta);
    const id = seen[0]?.event.response?.id ?? '';
    const posts = Array.from({ length: 10 }, (_, n) => `post ${round}.${n}`);
    const [cancelled, ...others] = await Promise.all([
      uhp.cancel(id),
      ...posts.map((input) => uhp.create({ input, previous_response_id: id })),
    ]);
    expect(cancelled?.body.status).toBe('cancelled');
    const accepted = posts.filter((_, n) => others[n]?.status === 200);
    expect(accepted.length).toBeLessThanOrEqual(1);
    for (const { status, code } of others)
      if (status !== 200) expect(['session_busy', 'reins_not_session_tip']).toContain(code);
    const last = others.find(({ status }) => status === 200)?.body.id ?? id;
    const after = await uhp.create({ input: `after ${round}`, previous_response_id: last });
    expect([after.status, after.body.status]).toEqual([200, 'completed']);
    inOrder.push(held, ...accepted, `after ${round}`);
    tip = after.body.id;
  }
  const messages = (model.server.requests.at(-1)?.body['messages'] ?? []) as unknown as readonly ChatMessage[];
  const said = messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => (typeof content === 'string' ? [content] : content.map((part) => part.text)));
  expect(said).toEqual(inOrder);
}, 20_000);
