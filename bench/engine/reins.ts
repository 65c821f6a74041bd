import { createAgent, defineTool } from '../../src/index.ts';
import { createRuntime } from '../../src/runtime.ts';
import { join } from 'node:path';
import { temporaryFolder } from '../server-pair.ts';
import { toolSchema, type Contender, type RunParts } from './contender.ts';
import type { RunEvent } from '../../src/index.ts';

/** Room for every run that is measured; all else is as an agent has it by default. */
const config = { limits: { maxSteps: 100_000 } };

export const reinsInMemory: Contender = async (parts) => {
  await using agent = createAgent(config, partsOf(parts));
  return await read(agent.runStream('Go.'));
};

export const reinsDurable: Contender = async (parts) => {
  using folder = temporaryFolder();
  const driver = { kind: 'sqlite', path: join(folder.path, 'runs.sqlite') } as const;
  await using runtime = createRuntime({ agents: [{ config, parts: partsOf(parts) }], driver });
  return await read(runtime.runStream('Go.'));
};

function partsOf({ model, tool: { name, description, run } }: RunParts) {
  const tool = defineTool({ name, description, input: toolSchema, run });
  return { provider: model, tools: [tool] };
}

async function read(events: AsyncIterable<RunEvent>): Promise<number> {
  let shown = 0;
  for await (const event of events) if (event.type === 'text-delta') shown += event.data.length;
  return shown;
}
