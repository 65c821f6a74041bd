// One engine in a process of its own: runs what it is told to run, and says what that cost by its own count.

import { createSharedModel, deltaText, lastWords, toolName } from './shared-model.ts';
import { startProfile } from '../profile.ts';
import type { Contender, RunShape } from './contender.ts';
import type { Cost, Order } from './measured-process.ts';

/** Each process loads its own engine alone. */
const contenders: Readonly<Record<string, () => Promise<Contender>>> = {
  'bare loop': async () => (await import('./bare-loop.ts')).bareLoop,
  Reins: async () => (await import('./reins.ts')).reinsInMemory,
  'Reins, durable': async () => (await import('./reins.ts')).reinsDurable,
  'pi-agent-core': async () => (await import('./pi-agent.ts')).piAgent,
  '@openai/agents': async () => (await import('./openai-agents.ts')).openaiAgents,
  ai: async () => (await import('./ai-sdk.ts')).aiSdk,
};

async function measure(contender: Contender, shape: RunShape): Promise<Cost> {
  const marks: number[] = [];
  const tool = {
    name: toolName,
    description: 'Counts.',
    run(input: unknown) {
      marks.push(cpuMicros());
      return `Counted ${JSON.stringify(input)}.`;
    },
  };
  globalThis.gc?.();
  const [startedAt, before] = [performance.now(), cpuMicros()];
  const shown = await contender({ model: createSharedModel(shape), shape, tool });
  const cpu = cpuMicros() - before;
  const wall = performance.now() - startedAt;
  const wanted = shape.kind === 'deltas' ? shape.count * deltaText.length : lastWords.length;
  if (shown !== wanted || (shape.kind === 'steps' && marks.length !== shape.count))
    throw new Error(`It showed ${shown} of ${wanted} characters and ran ${marks.length} tools.`);
  return { cpuMicros: cpu, wallMs: wall, marks };
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

const load = contenders[process.argv[2] ?? ''];
if (load === undefined) throw new Error(`There are: ${Object.keys(contenders).join(', ')}.`);
const contender = await load();
process.on('message', async ({ shape, profile }: Order) => {
  const profiling = profile === undefined ? null : await startProfile(profile);
  const cost = await measure(contender, shape);
  await profiling?.stop();
  process.send?.(cost);
});
