import { createRuntime, type RuntimeDriver } from '../src/runtime.ts';
import { createScriptedModel, simpleText } from '../src/testing/index.ts';
import { defineTool } from '../src/index.ts';
import type { Runtime } from '../src/runtimes/runtime.ts';

/** A runtime whose agent calls its tool as often as it is asked to, and is done: the same in every process. */
export function createStepRuntime(driver: RuntimeDriver): Runtime {
  const provider = createScriptedModel(({ prompt }) => {
    const asked = Number(/\d+/.exec(JSON.stringify(prompt.find(({ role }) => role === 'user')))?.[0]);
    const n = prompt.filter(({ role }) => role === 'tool').length;
    if (n >= asked) return simpleText('Done.');
    return { pieces: [{ kind: 'tool-call', id: `c${n}`, name: 'count', arguments: [`{"n":${n}}`] }] };
  });
  const count = defineTool({
    name: 'count',
    description: 'Counts.',
    input: { type: 'object', properties: { n: { type: 'number' } } },
    run: (input) => `Counted ${JSON.stringify(input)}.`,
  });
  return createRuntime({
    agents: [{ config: { name: 'worker', limits: { maxSteps: 100_000 } }, parts: { provider, tools: [count] } }],
    driver,
  });
}
