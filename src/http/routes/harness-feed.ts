import { followHarness } from '../../tasks/follow-harness.ts';
import { readHarness } from '../../tasks/read-harnesses.ts';
import type { Services } from '../../tasks/services.ts';
import { idOf, type Route } from '../route.ts';
import type { SendStream } from '../send-stream.ts';
import type { SseBatch } from '../sse-writer.ts';

/** The live events of all of a harness's tasks (UD-79): no replay, no end of its own. */
export function harnessFeedRoutes(services: Services, sendStream: SendStream): readonly Route[] {
  return [
    {
      path: '/v1/harnesses/:id/events',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call) {
            const [{ principal }, harnessId] = [call.caller, idOf(call)];
            await readHarness(services, principal, harnessId);
            return sendStream(call, (signal) => withOpening(followHarness(services, { principal, harnessId, signal })));
          },
        },
      },
    },
  ];
}

/** The comment on opening says: from here on nothing is missed. So the feed is subscribed to before it is sent. */
async function* withOpening(frames: AsyncIterable<string>): AsyncIterable<SseBatch> {
  const iterator = frames[Symbol.asyncIterator]();
  let next = iterator.next();
  // Heard below; a failure in the meantime must not count as unheard.
  next.catch(() => {});
  try {
    yield { text: ': open\n\n' };
    for (let frame = await next; frame.done !== true; frame = await next) {
      yield { text: frame.value };
      next = iterator.next();
    }
  } finally {
    await iterator.return?.();
  }
}
