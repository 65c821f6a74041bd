// A cursor that a list did not give is refused; an empty page would read as the end of the list (UD-51).

import { expect, test } from 'vitest';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64url');

test('UD-51, UR-41, UR-42: what is no cursor of a list is a 400 that names the field', async () => {
  await using server = await startServer({
    data: temporaryFolder(),
    settings: { webhooks: { allowLoopback: true } },
  });
  const { uhp } = server;
  const hook = async () =>
    (await uhp.send('POST', '/v1/reins/webhooks', { body: { url: 'http://127.0.0.1:9/', enabled: false } })).body.id;
  const [one, other] = [await hook(), await hook()];
  const delivery = (await uhp.send('POST', `/v1/reins/webhooks/${other}/test`)).body.id;
  const refused = { status: 400, code: 'invalid_input', param: 'cursor' };
  const asked: Record<string, readonly string[]> = {
    '/v1/reins/audit': ['x', 'aud_nosuch'],
    [`/v1/reins/webhooks/${one}/deliveries`]: ['x', 'msg_nosuch', delivery],
    '/v1/sessions': [
      'x',
      base64('[]'),
      base64('[1]'),
      base64('[1,"x"]'),
      base64('[1,"hsessa",2]'),
      base64('[1.5,"hsessa"]'),
      base64('[1e999,"hsessa"]'),
      base64('["1","hsessa"]'),
      `${base64('[1,"hsessa"]')}~`,
    ],
  };
  for (const [path, cursors] of Object.entries(asked))
    for (const cursor of cursors)
      expect([path, cursor, await uhp.send('GET', `${path}?cursor=${encodeURIComponent(cursor)}`)]).toMatchObject([
        path,
        cursor,
        refused,
      ]);
  const good = `/v1/reins/webhooks/${other}/deliveries?cursor=${delivery}`;
  expect((await uhp.send('GET', good)).body).toMatchObject({ deliveries: [] });
  expect((await uhp.send('GET', `/v1/sessions?cursor=${base64('[1,"hsessa"]')}`)).body).toMatchObject({ sessions: [] });
});
