// One engine in a process of its own: runs what it is told to run, and says what that cost by its own count.

import { createSharedModel, deltaText, lastWords, toolName } from './shared-model.ts';
import { startProfile } from '../profile.ts';
import type { Contender, EngineParts, RunShape } from './contender.ts';
import type { Cost, Order } from './measured-process.ts';

/** Each process loads its own engine alone. */
const contenders: Readonly<Record<string, (parts: EngineParts) => Promise<Contender>>> = {
  'bare loop': async (parts) => (await import('./bare-loop.ts')).createBareLoop(parts),
  Reins: async (parts) => (await import('./reins.ts')).createReinsInMemory(parts),
  'Reins, durable': async (parts) => (await import('./reins.ts')).createReinsDurable(parts),
  'pi-agent-core': async (parts) => (await import('./pi-agent.ts')).createPiAgent(parts),
  '@openai/agents': async (parts) => (await import('./openai-agents.ts')).createOpenaiAgents(parts),
  ai: async (parts) => (await import('./ai-sdk.ts')).createAiSdk(parts),
};

const create = contenders[process.argv[2] ?? ''];
if (create === undefined) throw new Error(`There are: ${Object.keys(contenders).join(', ')}.`);
const marks: number[] = [];
const tool = {
  name: toolName,
  description: 'Counts.',
  run(input: unknown) {
    marks.push(cpuMicros());
    return `Counted ${JSON.stringify(input)}.`;
  },
};
const shared = createSharedModel();
const contender = await create({ model: shared.model, tool });

async function measure(shape: RunShape): Promise<Cost> {
  marks.length = 0;
  shared.begin(shape);
  const before = cpuMicros();
  const shown = await contender.run(shape);
  const cost = cpuMicros() - before;
  const wanted = shape.kind === 'deltas' ? shape.count * deltaText.length : lastWords.length;
  if (shown !== wanted || (shape.kind === 'steps' && marks.length !== shape.count))
    throw new Error(`It showed ${shown} of ${wanted} characters and ran ${marks.length} tools.`);
  return { cpuMicros: cost, marks: [...marks] };
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function obey({ shape, times, profile }: Order): Promise<void> {
  const profiling = profile === undefined ? null : await startProfile(profile);
  await measure(shape); // After its pause the process has the machine to win back.
  const costs: Cost[] = [];
  for (let time = 0; time < times; time++) costs.push(await measure(shape));
  await profiling?.stop();
  process.send?.(costs);
}

process.on('message', (order: Order) => void obey(order));
