import { createFastClock } from './fast-clock.ts';
import {
  startModelServer,
  type ModelServer,
  type ModelServerProtocol,
} from '../../src/testing/model-servers/model-server.ts';
import { startServer } from './server.ts';
import { temporaryFolder } from './folders.ts';
import type { ScriptedReply } from '../../src/testing/model-servers/reply-script.ts';
import type { Uhp } from './uhp.ts';

/** A provider as an operator sets it up: what it speaks, its variables, and a model of it. */
export interface Provider {
  readonly name: string;
  readonly protocol: ModelServerProtocol;
  readonly prefix: string;
  readonly model: string;
  /** It sends the arguments of a call whole (E-112). */
  readonly wholeCalls?: true;
}

export const providers: readonly Provider[] = [
  { name: 'Anthropic', protocol: 'anthropic', prefix: 'ANTHROPIC', model: 'claude-opus-4.6' },
  { name: 'OpenAI Responses', protocol: 'openai-responses', prefix: 'OPENAI', model: 'gpt-5.4' },
  { name: 'Google', protocol: 'google', prefix: 'GOOGLE_GENERATIVE_AI', model: 'gemini-2.5-pro', wholeCalls: true },
  { name: 'OpenRouter', protocol: 'openai-chat', prefix: 'OPENROUTER', model: 'openrouter/maker/model' },
  { name: 'OpenAI-compatible', protocol: 'openai-chat', prefix: 'OPENAI_COMPATIBLE', model: 'openai-compatible/local' },
];

export const providerKey = 'canary-key-of-the-provider';

export interface ProvidedServer extends AsyncDisposable {
  readonly uhp: Uhp;
  readonly data: string;
  /** What the provider was asked. */
  readonly model: ModelServer;
}

/** A server of ours with that one provider, whose replies come in order. Its clock runs fast. */
export async function startWith(
  { protocol, prefix, model: name }: Provider,
  script: readonly ScriptedReply[],
): Promise<ProvidedServer> {
  const data = temporaryFolder();
  const model = await startModelServer(protocol, script);
  const env = { [`${prefix}_BASE_URL`]: model.baseURL, [`${prefix}_API_KEY`]: providerKey };
  const settings = { models: { default: name } };
  const server = await startServer({ data, env, settings, clock: createFastClock(20) });
  return {
    uhp: server.uhp,
    data,
    model,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}
