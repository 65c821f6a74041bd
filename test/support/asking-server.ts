// A server whose harness asks before everything but reading, with a model of its own.

import { addHarness, startServer } from './server.ts';
import { allowAll, type RunPermissions } from '../../src/core/run-config.ts';
import { createGate, hold, reply, startModel, text, type Gate, type Replies, type TestModel } from './model.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { temporaryFolder } from './folders.ts';
import type { Body } from './event-stream.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { Uhp } from './uhp.ts';

export interface AskingServer extends AsyncDisposable {
  readonly data: string;
  readonly gate: Gate;
  readonly model: TestModel;
  uhp: Uhp;
  /** Ends the server in order and starts another one on the same folder. */
  restart(): Promise<void>;
}

export interface AskingOptions {
  readonly replies?: Replies;
  readonly permissions?: Partial<RunPermissions>;
  readonly clock?: Clock;
  readonly settings?: object;
}

/** As a client reads it. */
export interface Asked {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly call_id: string;
  readonly arguments: string;
  readonly arguments_digest: string;
  readonly [field: string]: unknown;
}

const asking: RunPermissions = { ...allowAll, mode: 'allow-reads', onUnknown: 'park', questions: true };

/** Tasks `held…` stand after their first word until the gate is open. */
export async function startAsking({
  replies = {},
  permissions = {},
  clock,
  settings = {},
}: AskingOptions): Promise<AskingServer> {
  const [data, gate] = [temporaryFolder(), createGate()];
  await addHarness(data, 'owner', { permissions: { ...asking, ...permissions } });
  const held = [reply(text('first '), hold, text('second'))];
  const model = await startModel((said) => replies[said] ?? (said.startsWith('held') ? held : undefined), gate);
  const start = () =>
    startServer({
      data,
      env: model.env,
      settings: { ...model.settings, ...settings },
      ...(clock === undefined ? {} : { clock }),
    });
  let server = await start();
  const place: AskingServer = {
    data,
    gate,
    model,
    uhp: server.uhp,
    async restart() {
      await server[Symbol.asyncDispose]();
      server = await start();
      place.uhp = server.uhp;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
  return place;
}

export async function listAsked(uhp: Uhp, query: string): Promise<readonly Asked[]> {
  const { body } = await uhp.send('GET', `/v1/reins/approvals?${query}`);
  return body['approvals'] as readonly Asked[];
}

/** What the task waits for, once it waits for so much. */
export async function askedBy(uhp: Uhp, responseId: string, count = 1): Promise<readonly Asked[]> {
  return eventually(async () => {
    const open = await listAsked(uhp, `response=${responseId}`);
    return open.length === count ? open : undefined;
  });
}

/** Looks until there is something, for a few seconds at most. */
export async function eventually<T>(look: () => T | undefined | Promise<T | undefined>, forMs = 4_000): Promise<T> {
  for (let round = 0; round < forMs / 10; round++) {
    const found = await look();
    if (found !== undefined) return found;
    await pause(10);
  }
  throw new Error('It did not come.');
}

/** Starts a task and gives the one thing that it waits for. */
export async function startAsked(uhp: Uhp, body: object): Promise<{ readonly task: Body; readonly asked: Asked }> {
  const { body: task } = await uhp.create({ ...body, background: true });
  const [asked] = await askedBy(uhp, task.id);
  if (asked === undefined) throw new Error('Nothing is asked.');
  return { task, asked };
}

export function say(uhp: Uhp, { id }: Pick<Asked, 'id'>, verb: string, body: object) {
  return uhp.send('POST', `/v1/reins/approvals/${id}/${verb}`, { body });
}

/** What the model was last given to read for this text. */
export function readFor({ model }: Pick<AskingServer, 'model'>, asked: string): readonly ReadMessage[] {
  const body = model.asked(asked).at(-1)?.body ?? {};
  return (body['messages'] ?? []) as unknown as readonly ReadMessage[];
}

export interface ReadMessage {
  readonly role: string;
  readonly content: string;
  readonly tool_call_id?: string;
}
