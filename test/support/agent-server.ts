import { createGate, hold, reply, startModel, text, type Gate, type Replies, type TestModel } from './model.ts';
import { join } from 'node:path';
import { readdirSync } from 'node:fs';
import { startServer, type ServerOptions } from './server.ts';
import { temporaryFolder } from './folders.ts';
import type { Uhp } from './uhp.ts';

export interface AgentServer extends AsyncDisposable {
  readonly data: string;
  readonly url: string;
  readonly uhp: Uhp;
  readonly gate: Gate;
  readonly model: TestModel;
  close(): Promise<void>;
}

export interface AgentServerOptions extends Omit<Partial<ServerOptions>, 'data'> {
  readonly replies?: Replies;
}

/** A server with a model of its own; what is asked as `held…` stands after its first word until the gate is open. */
export async function startAgentServer(options: AgentServerOptions = {}): Promise<AgentServer> {
  const { replies = {}, env = {}, settings = {}, ...parts } = options;
  const [data, gate] = [temporaryFolder(), createGate()];
  const held = [reply(text('first '), hold, text('second'))];
  const model = await startModel((said) => replies[said] ?? (said.startsWith('held') ? held : undefined), gate);
  const server = await startServer({
    data,
    env: { ...model.env, ...env },
    settings: { ...model.settings, ...settings },
    ...parts,
  });
  return {
    data,
    gate,
    model,
    url: server.url,
    uhp: server.uhp,
    close: async () => server[Symbol.asyncDispose](),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

/** The folder of the only principal that has had a turn. */
export function principalFolder({ data }: { readonly data: string }): string {
  const [name = ''] = readdirSync(join(data, 'principals'));
  return join(data, 'principals', name);
}
