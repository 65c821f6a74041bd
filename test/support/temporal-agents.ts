// One agent, for processes that only schedule its runs and others that work on them: what it is asked says what it does. Each
// effect leaves a line in a file; where processes shall be killed in the middle, it works until then.

import { appendFileSync, existsSync } from 'node:fs';
import { createScriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/engine/define-tool.ts';
import type { AgentDefinition } from '../../src/runtime.ts';
import type { ModelRequest } from '../../src/engine/model.ts';
import type { ScriptedReply } from '../../src/testing/model-servers/reply-script.ts';
import type { Tool } from '../../src/engine/tool.ts';

export interface AgentOptions {
  readonly effects: string;
  /** Its model, its safe and its manual tool never end. */
  readonly hangs: boolean;
}

const anything = { type: 'object', properties: {}, additionalProperties: true } as const;

function replyTo({ prompt }: ModelRequest, hangs: boolean): ScriptedReply {
  const asked = JSON.stringify(prompt.findLast(({ role }) => role === 'user'));
  if (prompt.at(-1)?.role === 'tool') return { pieces: [{ kind: 'text', chunks: ['Done.'] }] };
  const name = ['safe', 'manual', 'gated', 'slow'].find((each) => asked.includes(each));
  if (name !== undefined) return { pieces: [{ kind: 'tool-call', id: 'a', name, arguments: ['{}'] }] };
  const pieces = [{ kind: 'text', chunks: ['Half ', 'and half.'] }] as const;
  return hangs ? { pieces, fault: { kind: 'stall', after: 1 } } : { pieces };
}

export function agentFor({ effects, hangs }: AgentOptions): AgentDefinition {
  const untilStopped = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  const tool = (name: string, settings: Partial<Tool>, work: (signal: AbortSignal) => Promise<void>) => {
    const made = defineTool({
      name,
      description: name,
      input: anything,
      async run(_input, { signal }) {
        appendFileSync(effects, `${name}\n`);
        await work(signal);
        return `did ${name}`;
      },
    });
    return { ...made, ...settings };
  };
  const maybe = (signal: AbortSignal) => (hangs ? untilStopped(signal) : Promise.resolve());
  const untilOpen = async (signal: AbortSignal) => {
    while (!existsSync(`${effects}.open`) && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  return {
    config: { name: 'worker', approvals: { onUnknown: 'park' } },
    parts: {
      provider: createScriptedModel((request) => replyTo(request, hangs)),
      tools: [
        tool('safe', { replay: 'safe' }, maybe),
        tool('manual', {}, maybe),
        tool('gated', { permission: 'ask' }, async () => {}),
        tool('slow', { replay: 'safe' }, untilOpen),
      ],
    },
  };
}
