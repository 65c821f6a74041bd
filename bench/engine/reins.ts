import { createAgent, defineTool } from '../../src/index.ts';
import { createRuntime } from '../../src/runtime.ts';
import { join } from 'node:path';
import { temporaryFolder } from '../server-pair.ts';
import { toolSchema, type Contender, type EngineParts } from './contender.ts';
import type { RunEvent } from '../../src/index.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';

/** Room for every run that is measured; all else is as an agent has it by default. */
const config = { limits: { maxSteps: 100_000 } };

export function createReinsInMemory(parts: EngineParts): Contender {
  const agent = createAgent(config, partsOf(parts));
  return { run: () => read(agent.runStream('Go.')) };
}

export function createReinsDurable(parts: EngineParts): Contender {
  const folder = temporaryFolder();
  process.on('exit', () => folder[Symbol.dispose]());
  const runtime = createReinsRuntime(parts, join(folder.path, 'runs.sqlite'));
  return { run: () => read(runtime.runStream('Go.')) };
}

export function createReinsRuntime(parts: EngineParts, path: string): Runtime {
  return createRuntime({ agents: [{ config, parts: partsOf(parts) }], driver: { kind: 'sqlite', path } });
}

function partsOf({ model, tool: { name, description, run } }: EngineParts) {
  const tool = defineTool({ name, description, input: toolSchema, run });
  return { provider: model, tools: [tool] };
}

async function read(events: AsyncIterable<RunEvent>): Promise<number> {
  let shown = 0;
  for await (const event of events) if (event.type === 'text-delta') shown += event.data.length;
  return shown;
}
