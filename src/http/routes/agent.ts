// A turn over HTTP, in one request: `POST /api/agent`. The one path where who goes away ends the work: the same
// events feed the stream and the JSON answer.

import { acceptsStream } from '../../protocol/agent/accepts-stream.ts';
import { encodeComment, encodeUnnumberedSse } from '../../protocol/sse.ts';
import { followAgentTurn } from '../../tasks/follow-agent-turn.ts';
import { parseAgentRequest } from '../../protocol/agent/request.ts';
import { startAgentTurn } from '../../tasks/start-agent-turn.ts';
import type { AgentEvent } from '../../protocol/agent/events.ts';
import type { Call, Route } from '../route.ts';
import type { SendStream } from '../send-stream.ts';
import type { Services } from '../../tasks/services.ts';
import type { SseBatch } from '../sse-writer.ts';

export function agentRoutes(services: Services, sendStream: SendStream): readonly Route[] {
  return [
    {
      path: '/api/agent',
      dialect: 'agent',
      verbs: { POST: { scope: 'tasks', handle: (call) => runTurn(services, sendStream, call) } },
    },
  ];
}

const comment = encodeComment('ping');

/** A stream is opened only when nothing can be refused any more. */
async function runTurn(services: Services, sendStream: SendStream, call: Call): Promise<unknown> {
  const { request, reply, caller } = call;
  reply.raw.appendHeader('Vary', 'Accept');
  const asked = parseAgentRequest(typeof request.body === 'string' ? request.body : '');
  const begun = await startAgentTurn(services, caller.principal, asked);
  // The caller's own key is no word of an answer, either.
  const key = request.headers.authorization?.replace(/^bearer +/i, '') ?? '';
  const turn = { ...begun, secrets: [...begun.secrets, key] };
  const open = (signal: AbortSignal) => followAgentTurn(services, turn, signal);
  if (acceptsStream(request.headers.accept)) return sendStream(call, (signal) => encoded(open(signal)), { comment });
  return answerAtEnd(call, open(call.signal()));
}

async function* encoded(batches: AsyncIterable<readonly AgentEvent[]>): AsyncGenerator<SseBatch> {
  for await (const events of batches)
    yield { text: events.map((event) => encodeUnnumberedSse(JSON.stringify(event))).join('') };
}

async function answerAtEnd({ reply }: Call, batches: AsyncIterable<readonly AgentEvent[]>): Promise<unknown> {
  let last: AgentEvent | undefined;
  for await (const events of batches) last = events.at(-1);
  if (reply.raw.destroyed) return reply.hijack();
  if (last?.type === 'error') return reply.code(last.status).send({ error: last.error });
  if (last?.type !== 'done') throw new Error('A turn was left without a last word.');
  const { type: _, ...answer } = last;
  return answer;
}
