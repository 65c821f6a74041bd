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
            return sendStream(call, (signal) => batches(followHarness(services, { principal, harnessId, signal })));
          },
        },
      },
    },
  ];
}

async function* batches(frames: AsyncIterable<string>): AsyncIterable<SseBatch> {
  for await (const text of frames) yield { text };
}
