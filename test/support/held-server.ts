import { createGate, hold, reply, startModel, text, type Gate, type Replies, type TestModel } from './model.ts';
import { startServer } from './server.ts';
import { temporaryFolder } from './folders.ts';
import type { Uhp } from './uhp.ts';

export interface HeldServer extends AsyncDisposable {
  readonly data: string;
  readonly gate: Gate;
  readonly model: TestModel;
  readonly url: string;
  readonly uhp: Uhp;
}

/** A server with a model of its own; its tasks `held…` stand after their first word until the gate is open. */
export async function startHeld(data = temporaryFolder(), replies: Replies = {}): Promise<HeldServer> {
  const gate = createGate();
  const held = [reply(text('first '), hold, text('second'))];
  const model = await startModel((asked) => replies[asked] ?? (asked.startsWith('held') ? held : undefined), gate);
  const { url, uhp, ...server } = await startServer({ data, ...model });
  return {
    data,
    gate,
    model,
    url,
    uhp,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}
