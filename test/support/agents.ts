import { createAgent, type AgentParts } from '../../src/agent.ts';
import { createScriptedModel, type ScriptedModel } from '../../src/testing/scripted-model.ts';
import { loadConfig } from '../../src/config.ts';
import type { Agent } from '../../src/runtimes/direct-agent.ts';
import type { AgentConfig } from '../../src/runtimes/agent-config.ts';
import type { ModelRequest } from '../../src/engine/model.ts';
import type { ReplyScript, ScriptedReply } from '../../src/testing/model-servers/reply-script.ts';
import type { RunEvent } from '../../src/core/run-event.ts';

/** Settings that know nothing of this machine. */
export const noSettings = loadConfig({ env: { REINS_DEMO_SPEED: 'full' }, readFile: () => null });

export interface ScriptedAgent extends AsyncDisposable {
  readonly agent: Agent;
  readonly model: ScriptedModel;
}

/** A library agent whose model plays a script. */
export function scriptedAgent(
  replies: ReplyScript<ModelRequest>,
  { config = {}, ...parts }: AgentParts & { readonly config?: AgentConfig } = {},
): ScriptedAgent {
  const model = createScriptedModel(replies, parts.clock === undefined ? {} : { clock: parts.clock });
  const agent = createAgent(config, { provider: model, settings: noSettings, ...parts });
  return { agent, model, [Symbol.asyncDispose]: () => agent.close() };
}

/** Shows these pieces, then nothing until it is stopped. */
export const endless = (...chunks: string[]): ScriptedReply => ({
  pieces: [{ kind: 'text', chunks }],
  fault: { kind: 'stall', after: chunks.length },
});

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Iterates until an event of that type; leaves the stream open. */
export async function until(events: AsyncIterator<RunEvent>, type: RunEvent['type']): Promise<void> {
  for (let next = await events.next(); next.done !== true; next = await events.next())
    if (next.value.type === type) return;
  throw new Error(`The stream ended before ${type}.`);
}

/** The rejections that nobody handled while `work` was done. */
export async function unhandledIn(work: () => Promise<void>): Promise<readonly unknown[]> {
  const unhandled: unknown[] = [];
  const note = (cause: unknown) => unhandled.push(cause);
  process.on('unhandledRejection', note);
  try {
    await work();
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    return unhandled;
  } finally {
    process.off('unhandledRejection', note);
  }
}
