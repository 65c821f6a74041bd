import { z } from 'zod';
import { shaped } from './columns.ts';
import type { SessionHistory } from '../session-store.ts';

const path = z.string().exactOptional();
const userPart = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('file'), filename: z.string(), mediaType: z.string(), text: z.string(), path }),
  z.object({
    type: z.literal('media'),
    mediaType: z.string(),
    filename: z.string().exactOptional(),
    path,
    ref: z.string(),
    bytes: z.number(),
  }),
]);
const _provider = z.record(z.string(), z.json()).exactOptional();
const assistantPart = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal(['text', 'thinking']), text: z.string(), _provider }),
  z.object({
    kind: z.literal('tool-call'),
    call: z.object({ id: z.string(), name: z.string(), arguments: z.string() }),
    _provider,
  }),
]);
const content = z.object({ ref: z.string(), bytes: z.number() });
const answer = z.object({
  toolCallId: z.string(),
  name: z.string(),
  content: z.string(),
  isError: z.boolean(),
  spill: content.exactOptional(),
  media: z.array(content.extend({ mediaType: z.string() })).exactOptional(),
});
const seq = z.number().exactOptional();
const message = z.discriminatedUnion('role', [
  z.object({ role: z.literal('user'), content: z.array(userPart), seq }),
  z.object({ role: z.literal('assistant'), parts: z.array(assistantPart), seq }),
  z.object({ role: z.literal('tool'), answers: z.array(answer), seq }),
]);
const todo = z.object({ content: z.string(), status: z.enum(['pending', 'in_progress', 'completed']) });

/** The conversation that a forked session began with, as `admit` wrote it. */
export const forkHistory = shaped<SessionHistory>(
  z.object({ messages: z.array(message), todos: z.array(todo).nullable() }),
);
