import { expect, test } from 'vitest';
import { startServer } from './support/server.ts';
import { whole, finalOf } from './support/uhp.ts';
import { assembleOutput } from './support/event-stream.ts';
import { temporaryFolder } from './reins-process.ts';
test('scratch', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { uhp } = server;
  const frames = await whole(uhp.stream({ input: 'Reply with exactly: ok' }));
  console.log(frames.map((f) => f.text).join('\n'));
  expect(assembleOutput(frames)).toEqual(finalOf(frames).output);
  const f2 = await whole(uhp.stream({ input: 'Count slowly from 1 to 400' }));
  console.log(f2.length);
  const f3 = await whole(uhp.attach(finalOf(f2).id));
  expect(f3).toEqual(f2);
}, 10_000);
