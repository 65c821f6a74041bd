// Tools of the host: their calls wait in the log, as something to be settled from outside, and no process has to live as
// long (P-080).

import { executionKeyOf, type PendingTool } from '../../core/run-event.ts';
import { isJsonObject } from '../../core/json.ts';
import { pendingTool } from '../../core/closing.ts';
import { RuntimeStateError } from '../../core/errors.ts';
import { settingsIn, type TurnSettings } from './turn-settings.ts';
import type { EngineParts } from '../../engine/engine-parts.ts';
import type { RunState } from '../../core/run-state.ts';
import type { Tool } from '../../engine/tool.ts';

const skillTool = 'open_skill';

/** What a turn works with: the agent's parts, and what its host brings and leaves out. */
export function dressParts(parts: EngineParts, current: () => RunState): EngineParts {
  const settings = settingsIn(current().task?.metadata);
  if (settings === null) return parts;
  const { filter, tools, skills } = settings;
  const only = filter?.mode === 'allow' ? new Set(filter.names) : null;
  const hosted = [
    ...tools.map((spec) => createHostTool(spec, { current, now: () => parts.clock.now() })),
    ...(skills.length === 0 ? [] : [createSkillTool(skills)]),
  ];
  const names = new Set(hosted.map(({ name }) => name));
  const own = parts.tools.filter(({ name }) => !names.has(name) && only?.has(name) !== false);
  // What comes and goes has no name that the host could have allowed.
  const { sources = [] } = parts;
  return { ...parts, tools: [...own, ...hosted], sources: only === null ? sources : [] };
}

function createHostTool(
  spec: TurnSettings['tools'][number],
  { current, now }: { readonly current: () => RunState; readonly now: () => number },
): Tool {
  return {
    ...spec,
    // Whether it may run is the host's to decide.
    permission: 'allow',
    onUnknown: 'park',
    run: async (_input, { executionKey }) => ({ content: '', waitsFor: [waitFor(current(), executionKey, now())] }),
  };
}

function waitFor(state: RunState, executionKey: string, nowMs: number): PendingTool {
  const { runId, step, open } = state;
  const entry = open?.calls.find(({ call }) => executionKeyOf(runId, step, call.id) === executionKey);
  if (entry?.progress.at !== 'dispatched') throw new RuntimeStateError('A call runs that was not begun.');
  const { name, input, argsDigest, replay, toolAttempt } = entry.progress;
  const call = { id: entry.call.id, name, input };
  const pending = pendingTool(state, { kind: 'recovery', call, argsDigest, replay, toolAttempt }, nowMs);
  return { ...pending, expiresAtMs: null };
}

function createSkillTool(skills: TurnSettings['skills']): Tool {
  const lines = skills.map(({ name, description }) => `- ${name}: ${description}`);
  return {
    name: skillTool,
    description: ['Gives instructions for certain kinds of work. Open what fits before you begin:', ...lines].join(
      '\n',
    ),
    inputSchema: {
      type: 'object',
      properties: {
        name: { enum: skills.map(({ name }) => name) },
        file: { type: 'string', description: 'A file that belongs to it. Absent: the instructions.' },
      },
      required: ['name'],
      additionalProperties: false,
    },
    useKind: 'readonly',
    permission: 'allow',
    replay: 'safe',
    async run(input) {
      const { name, file } = isJsonObject(input) ? input : {};
      const skill = skills.find((each) => each.name === name);
      if (file === undefined && skill !== undefined) {
        const files = skill.files.map(({ path }) => `- ${path}`);
        return { content: [skill.content, ...(files.length === 0 ? [] : ['Files:', ...files])].join('\n') };
      }
      const found = skill?.files.find(({ path }) => path === file);
      return found === undefined ? { content: 'There is no such file.', isError: true } : { content: found.content };
    },
  };
}
